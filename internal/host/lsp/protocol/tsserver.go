package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/sourcegraph/go-lsp"
)

// TSServer are diagnostics as tsserver gives them, from behind
// typescript-language-server: lines and offsets count from 1, offsets in UTF-16 units.
type TSServer []Diagnostic

// categories of tsserver, as severities. A suggestion is a hint.
var categories = map[string]lsp.DiagnosticSeverity{"error": lsp.Error, "warning": lsp.Warning, "suggestion": lsp.Hint, "message": lsp.Information}

type tsPlace struct{ Line, Offset int }

func (p tsPlace) position() lsp.Position {
	return lsp.Position{Line: max(p.Line-1, 0), Character: max(p.Offset-1, 0)}
}

// UnmarshalJSON reads the response to one of the requests for diagnostics.
func (t *TSServer) UnmarshalJSON(raw []byte) error {
	var response struct {
		Success *bool
		Message string
		Body    []struct {
			Start, End                            tsPlace
			Text                                  string
			Code                                  Word
			Category                              string
			ReportsUnnecessary, ReportsDeprecated bool
		}
	}
	if err := json.Unmarshal(raw, &response); err != nil {
		return err
	}
	if response.Success == nil || !*response.Success {
		return fmt.Errorf("tsserver has no diagnostics: %s", response.Message)
	}
	*t = nil
	for _, b := range response.Body {
		d := Diagnostic{
			Range:    lsp.Range{Start: b.Start.position(), End: b.End.position()},
			Severity: categories[b.Category], Code: b.Code, Source: "typescript", Message: Markdown(b.Text),
		}
		if b.ReportsUnnecessary {
			d.Tags = append(d.Tags, 1)
		}
		if b.ReportsDeprecated {
			d.Tags = append(d.Tags, 2)
		}
		*t = append(*t, d)
	}
	return nil
}
