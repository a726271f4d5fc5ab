package round

import "fmt"

var modes = map[string]Func{"nearest": Nearest, "up": Up, "down": Down}

// Mode returns the function of that name: nearest, up or down.
func Mode(name string) (Func, error) {
	f, ok := modes[name]
	if !ok {
		return nil, fmt.Errorf("cannot round %q: expected nearest, up or down", name)
	}
	return f, nil
}
