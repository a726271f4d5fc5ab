package work

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/internal/gate/tool"
	"github.com/kxtools/kx/pkg/wire"
)

const emitSchema = `{"type":"object","additionalProperties":false,"properties":{
"content":{"type":"string","description":"the answer as one text"},
"parts":{"type":"array","description":"the answer in ordered parts, instead of content","items":{"type":"object","additionalProperties":false,"required":["type"],"properties":{
 "type":{"type":"string","enum":["text","asset"]},
 "text":{"type":"string","description":"of a text part"},
 "asset_id":{"type":"string","description":"of an asset part"}}}},
"artifact_ids":{"type":"array","items":{"type":"string"},"description":"stored artifacts that belong to the answer"}}}`

type emitInput struct {
	Content     string   `json:"content"`
	Parts       []part   `json:"parts"`
	ArtifactIDs []string `json:"artifact_ids"`
}

type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	AssetID string `json:"asset_id"`
}

func emitOutput(_ context.Context, _ *tool.Env, input json.RawMessage) (wire.Output, error) {
	var in emitInput
	if err := tool.Decode("emit_output", input, &in); err != nil {
		return nil, err
	}
	if len(in.ArtifactIDs) > 0 {
		return nil, fail.NotFound("no_such_artifact", "there is no artifact %q", in.ArtifactIDs[0])
	}
	if in.Content != "" && len(in.Parts) > 0 {
		return nil, tool.Invalid("emit_output", "give either content or parts")
	}
	text := in.Content
	for i, p := range in.Parts {
		switch {
		case p.Type == "asset":
			return nil, fail.NotFound("no_such_asset", "parts[%d]: there is no asset %q", i, p.AssetID)
		case p.Type != "text":
			return nil, tool.Invalid("emit_output", "parts[%d] is of type %q, expected text", i, p.Type)
		case p.AssetID != "":
			return nil, tool.Invalid("emit_output", "parts[%d] is text and names an asset", i)
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += p.Text
	}
	if strings.TrimSpace(text) == "" {
		return nil, tool.Invalid("emit_output", "there is nothing to hand over: content and parts are empty")
	}
	return wire.Output{"text": text}, nil
}
