package config

// LanguageServer is a server that the user adds to those that kx knows, or puts in
// the place of one: [lsp_servers.NAME].
type LanguageServer struct {
	Name       string            `json:"name"`
	Command    []string          `json:"command"`              // the program, found on PATH, and its arguments
	Extensions map[string]string `json:"extensions,omitempty"` // ".c" = "c": what the protocol calls the language of such a file
	Options    map[string]any    `json:"options,omitempty"`    // initializationOptions
	Settings   map[string]any    `json:"settings,omitempty"`   // what workspace/configuration is answered with, by section
	Env        []string          `json:"env,omitempty"`        // NAME=value
	RunsCode   *bool             `json:"runs_code,omitempty"`  // it runs code of the project; not said, one that kx does not know does
	Source     string            `json:"-"`                    // file:line
}
