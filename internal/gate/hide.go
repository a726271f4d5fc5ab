package gate

import (
	"encoding/json"

	"github.com/kxtools/kx/internal/base/redact"
	"github.com/kxtools/kx/pkg/wire"
)

// hide takes known secrets out of a result: whoever made the call, a model or a
// program, and all that is written of it, gets a name in place of the value.
func (r *run) hide(res *wire.Result) {
	if r.secrets == nil {
		return
	}
	for k, v := range res.Output {
		if text, ok := v.(string); ok {
			res.Output[k] = r.secrets.String(text)
		} else {
			res.Output[k] = hidden(r.secrets, v)
		}
	}
	res.Error, res.Decision = hidden(r.secrets, res.Error), hidden(r.secrets, res.Decision)
}

// hidden returns v, or, if a secret is in it, another one that says the same
// without.
func hidden[T any](known *redact.Redactor, v T) T {
	raw, err := wire.Marshal(v)
	if err != nil {
		return v // whoever encodes it says so
	}
	clean := known.JSON(raw)
	if len(clean) == len(raw) && string(clean) == string(raw) {
		return v
	}
	var other T
	if json.Unmarshal(clean, &other) != nil {
		var none T
		return none
	}
	return other
}
