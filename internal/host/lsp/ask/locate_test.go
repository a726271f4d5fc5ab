package ask

import (
	"testing"

	"github.com/kxtools/kx/internal/host/lsp/protocol"
)

// What a name stands in may have type parameters, and a name of several words.
func TestFits(t *testing.T) {
	around := []string{"work", "pkg", "main"}
	for _, tt := range []struct {
		asked, in, name string
		want            bool
	}{
		{"T.M", "", "(*T).M", true},
		{"pkg.T.M", "", "(*T).M", true},
		{"X.M", "", "(*T).M", false},
		{"List.Add", "", "(*List[T]).Add", true},
		{"pkg.Map.Get", "", "(Map[K, V]).Get", true},
		{"(*List[T]).Add", "", "(*List[T]).Add", true},
		{"K.Get", "", "(Map[K, V]).Get", false},
		{"List::add", "impl<T: Fn(A) -> B> Sink<io::X> for List<Vec<T>>", "add", true},
		{"impl List<T>.add", "impl List<T>", "add", true},
		{"A.[Symbol.iterator]", "A", "[Symbol.iterator]", true},
		{"a<b.c", "a<b", "c", true},
	} {
		if got := fits(words(tt.asked), around, tt.in, protocol.DocumentSymbol{Name: tt.name}); got != tt.want {
			t.Errorf("%s in %q %s: %v", tt.asked, tt.in, tt.name, got)
		}
	}
	for name, want := range map[string]string{"(*List[T]).Add": "Add", "max<T>": "max", "Max[T]": "Max", "(*T).M": "M"} {
		if got := plainName(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
