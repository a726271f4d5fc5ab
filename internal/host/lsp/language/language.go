// Package language says which language servers there are: what files they are for,
// how they are started and told of a workspace, what each of them needs of a client,
// and how one gets it. What the user adds comes first.
//
// A project never chooses a program: one that lies in the workspace is not started,
// whatever PATH says. Nothing is run here; that a program is a language server shows
// when it answers. kxd lsp calls it.
package language

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/host/lsp/client"
)

// Language is a set of files for which the same servers are asked.
type Language struct {
	Name     string            // go, typescript, ..., or the name of a server of the user
	Title    string            // as people call it
	IDs      map[string]string // what the protocol calls a file, by its extension (".tsx") or whole name ("go.mod")
	Projects []string          // files in whose folders projects begin
	Servers  []*Server         // the first one that answers is used
}

// Method is how the diagnostics of a file are got.
type Method int

// The methods.
const (
	Pull  Method = iota // by a request, from servers that can: nobody waits for nothing
	Fence               // they are pushed before the answer to a request that is sent after the file
	Push                // they are pushed at any time
)

// Check is how a server is told to let the project's own compiler look at the files.
type Check struct {
	Method string // the notification, for all that there is
	Token  string // how the token of its progress begins
	Failed string // what is in the server's status where the compiler could not look
	Hint   string // what shows why, and mends most of it
}

// Complaint is what a server says of itself, as a person wants to read it.
type Complaint struct {
	Has, Means, Hint string
	Broken           bool // it can't work, whether or not it says so yet
}

// Broken reports whether a server that complains so can't work.
func (s *Server) Broken(what string) bool {
	return slices.ContainsFunc(s.Complaints, func(c Complaint) bool { return c.Broken && strings.Contains(what, c.Has) })
}

// Complain returns what a complaint means, and what to do; the words of the server
// where they are not known.
func (s *Server) Complain(what string) (means, hint string) {
	var list []string
	for _, c := range s.Complaints {
		if strings.Contains(what, c.Has) {
			list, hint = append(list, c.Means), cmp.Or(hint, c.Hint)
		}
	}
	if len(list) == 0 {
		return what, ""
	}
	return strings.Join(list, "; "), hint
}

// Slipped reports whether an error of the server is a mistake that it makes once.
func (s *Server) Slipped(what string) bool {
	return slices.ContainsFunc(s.Slips, func(slip string) bool { return strings.Contains(what, slip) })
}

// Server is a language server. One that serves several languages is in each of them,
// and runs once.
type Server struct {
	Name     string
	Language string   // the name of the first language that has it
	Argv     []string // the program, a name on PATH or an absolute path, and its arguments
	RunsCode bool     // code of the project: build scripts, macros, plugins

	// Options are what initialize hands over.
	Options func(Start) any
	// Settings are answers to workspace/configuration; see Setting.
	Settings func(Start) map[string]any
	// Program is the text of a program in its cache folder that Settings name.
	Program func(Start) string
	// Env are variables of the server.
	Env func(Start) []string

	Ready       client.Ready
	Diagnostics Method
	Loose       bool                       // it knows of a file only once it, or another one of its project, is open
	OpenCreated bool                       // it takes notice of a new file only once it was open
	Text        string                     // the request for the text of a file, of a server that reads files later than it hears of them
	Reload      []string                   // names of files that it does not read again, or only later
	Extended    func(root string) []string // more such files, of a workspace; nil for none
	UTF8        bool                       // its language refuses a file of other bytes, which it is not given
	Embeds      func(text string) []string // patterns of other files that a file takes in, of a server that looks for them once
	Unlinked    string                     // the code of what it says, for editors, of a file that belongs to no project: it has not looked at its types
	Nothing     []string                   // the errors with which it says that there is nothing at a place
	Check       *Check                     // it can have the project's own compiler look, too
	Markers     []string                   // folders that are not looked into and in which what it needs is installed

	// Apart says that other projects of a workspace use that of a file and are not looked
	// into for what has a name there, "" for none; nil for a server that looks into all.
	Apart func(files []string, path, name string) string

	// Needs are programs that it can't do without, and Complaints what it says of
	// itself in other words.
	Needs      []need
	Complaints []Complaint
	// Slips are what is in an error that is the server's own mistake, and not made again.
	Slips []string
	// Libraries are folders and files outside of the workspace. What is installed there
	// is looked for again only by a server that missed something; a silent one does not
	// say that it did.
	Libraries func(Start) func() []string
	Silent    bool

	// Proof looks at a program that was found and says why it can't be this server,
	// without running it; nil if it may be.
	Proof func(program string) error

	ways []way
}

// Start is a server about to be started.
type Start struct {
	Argv  []string // as Find returned it
	Root  string
	Files []string // all files of the workspace, by their absolute paths
	Env   []string // the variables of whoever asked
	Cache string   // a folder of its own as the server sees it, which stays from one start to the next
}

// ByPath returns the language of a file and what the protocol calls it; nil for a
// file that no server is for.
func ByPath(langs []*Language, path string) (l *Language, languageID string) {
	for key := filepath.Base(path); ; { // the longest end of the name counts
		for _, l := range langs {
			if id := l.IDs[key]; id != "" {
				return l, id
			}
		}
		dot := strings.IndexByte(key[min(1, len(key)):], '.')
		if dot < 0 {
			return nil, ""
		}
		key = key[dot+1:]
	}
}

// ByName returns the language that is called so, nil for none. A server's name
// stands for its language.
func ByName(langs []*Language, name string) *Language {
	for _, l := range langs {
		if strings.EqualFold(l.Name, name) {
			return l
		}
	}
	for _, l := range langs {
		if slices.ContainsFunc(l.Servers, func(s *Server) bool { return strings.EqualFold(s.Name, name) }) {
			return l
		}
	}
	return nil
}

// Setting returns what workspace/configuration is answered with for a section,
// which may be one inside of another ("python.analysis"); nil where there is nothing
// to say.
func (s *Server) Setting(at Start) func(section string) any {
	var all map[string]any
	if s.Settings != nil {
		all = s.Settings(at)
	}
	return func(section string) any {
		if value, ok := all[section]; ok {
			return value
		}
		var value any = all
		for _, name := range strings.Split(section, ".") {
			m, _ := value.(map[string]any)
			value = m[name]
		}
		return value
	}
}

// Outgrows reports whether a server has to be started again when a file changes.
func (s *Server) Outgrows(root, path string) bool {
	return slices.Contains(s.Reload, filepath.Base(path)) || s.Extended != nil && slices.Contains(s.Extended(root), path)
}
