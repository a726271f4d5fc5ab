package secret

import (
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
)

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// word is what stands in one place of a slot's name.
type word struct{ first, rest string }

var (
	name     = word{letters + digits, letters + digits + "_-"}
	variable = word{letters + "_", letters + digits + "_"}
)

// Forms are the names that slots can have, for people.
const Forms = "model.PROVIDER.ACCOUNT, mcp.custom.SERVER.VARIABLE or mcp.oauth.ID"

// forms are the same for Check: what a name begins with, and the words behind it.
var forms = []struct {
	prefix string
	words  []word
}{
	{"model.", []word{name, name}},
	{"mcp.custom.", []word{name, variable}},
	{"mcp.oauth.", []word{name}},
}

// maxWord keeps the longest name, with what is behind it, below the 255 bytes that
// a file's name has.
const maxWord = 64

// Check refuses what is not the name of a slot. Whatever passes is a file name.
func Check(slot string) error {
	for _, f := range forms {
		if rest, ok := strings.CutPrefix(slot, f.prefix); ok && fits(strings.Split(rest, "."), f.words) {
			return nil
		}
	}
	return fail.Usage("%.80q is not a slot: expected %s, in letters, digits, _ and -", slot, Forms).WithHint("kx secret list")
}

func fits(parts []string, words []word) bool {
	if len(parts) != len(words) {
		return false
	}
	for i, w := range words {
		p := parts[i]
		if p == "" || len(p) > maxWord || strings.Trim(p[:1], w.first) != "" || strings.Trim(p, w.rest) != "" {
			return false
		}
	}
	return true
}
