// Package completions holds the completion scripts that "make completions"
// writes. They ask "kx __complete" for everything and evaluate nothing.
package completions

import "embed"

// FS has the scripts, without folders.
//
//go:embed kx.bash _kx kx.fish kx.ps1
var FS embed.FS
