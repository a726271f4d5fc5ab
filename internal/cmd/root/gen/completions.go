package main

import (
	"embed"
	"strings"

	"github.com/kxtools/kx/internal/cmd/app"
)

// templates are the scripts, with the words of the program in {{...}}.
//
//go:embed templates
var templates embed.FS

// scripts returns the completion scripts. The words that they and "kx
// __complete" must agree on come from the tree and from package app.
func scripts() map[string][]byte {
	words := strings.NewReplacer(
		"{{kx}}", tree().Name,
		"{{complete}}", "__complete",
		"{{files}}", app.AnyFile.Value,
		"{{dirs}}", app.AnyDir.Value,
	)
	files := map[string][]byte{}
	for _, name := range []string{"kx.bash", "_kx", "kx.fish", "kx.ps1"} {
		text, err := templates.ReadFile("templates/" + strings.TrimPrefix(name, "_") + ".tmpl")
		if err != nil {
			panic(err) // it is embedded
		}
		files[name] = []byte(words.Replace(string(text)))
	}
	return files
}
