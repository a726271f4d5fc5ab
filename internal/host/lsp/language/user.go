package language

import (
	"maps"
	"slices"
	"strings"

	"github.com/kxtools/kx/internal/host/lsp/client"
	"github.com/kxtools/kx/internal/record/config"
)

// Table returns the languages with what the user adds. A file for which the user
// names a server is asked of it first, and then of others that could tell: those that
// the user names after it, and those that kx knows.
func Table(user []config.LanguageServer) []*Language {
	langs := builtIn()
	claims := map[string][]*Server{} // who is named for an extension
	var own []*Language
	for _, u := range user {
		s := known(langs, u.Name)
		if s == nil {
			// Before it has done its first work it may answer with nothing, for all that is known.
			s = &Server{Name: u.Name, Language: u.Name, RunsCode: true, Diagnostics: Push, Ready: client.OnProgress}
		}
		s.take(u)
		ids := map[string]string{}
		for key, id := range u.Extensions {
			if claims[key] = append(claims[key], s); len(claims[key]) == 1 {
				ids[key] = id
			}
		}
		if len(ids) > 0 {
			own = append(own, &Language{Name: u.Name, Title: title(ids), IDs: ids, Servers: []*Server{s}})
		}
	}
	var added []*Language
	for _, l := range own {
		if whole := l.ask(langs, claims); whole != nil {
			whole.IDs, whole.Servers = l.IDs, l.Servers
			continue
		}
		added = append(added, l)
	}
	return slices.Concat(added, slices.DeleteFunc(langs, func(l *Language) bool { return len(l.IDs) == 0 }))
}

// ask appends those that could tell of every file of a language of the user, and
// takes its files from the languages that had them. It returns the one that has the
// very same files.
func (l *Language) ask(langs []*Language, claims map[string][]*Server) (whole *Language) {
	var all [][]*Server // who is asked about each extension
	for key := range l.IDs {
		asked := claims[key]
		for _, known := range langs {
			switch _, has := known.IDs[key]; {
			case has && maps.EqualFunc(known.IDs, l.IDs, func(string, string) bool { return true }):
				whole = known
				fallthrough
			case has:
				asked = slices.Concat(asked, known.Servers)
			}
		}
		all = append(all, asked)
	}
	for _, s := range all[0] {
		if !slices.Contains(l.Servers, s) && !slices.ContainsFunc(all, func(asked []*Server) bool { return !slices.Contains(asked, s) }) {
			l.Servers = append(l.Servers, s)
		}
	}
	for _, known := range langs {
		if known != whole {
			maps.DeleteFunc(known.IDs, func(key, _ string) bool { return l.IDs[key] != "" })
		}
	}
	return whole
}

// title is what a language is called whose files have these names in the protocol.
func title(ids map[string]string) string {
	return strings.Join(slices.Compact(slices.Sorted(maps.Values(ids))), ", ")
}

// known returns a server that kx knows.
func known(langs []*Language, name string) *Server {
	for _, l := range langs {
		for _, s := range l.Servers {
			if s.Name == name {
				return s
			}
		}
	}
	return nil
}

// take takes over what the user says of a server; the rest stays.
func (s *Server) take(u config.LanguageServer) {
	s.Argv, s.Proof, s.ways = u.Command, nil, nil
	if u.RunsCode != nil {
		s.RunsCode = *u.RunsCode
	}
	if before := s.Options; u.Options != nil {
		s.Options = func(at Start) any {
			if before == nil {
				return u.Options
			}
			return over(before(at), u.Options)
		}
	}
	if before := s.Settings; u.Settings != nil {
		s.Settings = func(at Start) map[string]any {
			if before == nil {
				return u.Settings
			}
			return over(before(at), u.Settings)
		}
	}
	if before := s.Env; u.Env != nil {
		s.Env = func(at Start) []string {
			if before == nil {
				return u.Env
			}
			at.Env = slices.Concat(u.Env, at.Env)
			return slices.Concat(before(at), u.Env)
		}
	}
	if before := s.Libraries; u.Env != nil && before != nil {
		s.Libraries = func(at Start) func() []string {
			at.Env = slices.Concat(u.Env, at.Env)
			return before(at)
		}
	}
}

// over lays the user's tables over ours.
func over(ours any, user map[string]any) map[string]any {
	m, _ := ours.(map[string]any)
	all := maps.Clone(m)
	if all == nil {
		all = map[string]any{}
	}
	for name, value := range user {
		if inner, ok := value.(map[string]any); ok {
			value = over(all[name], inner)
		}
		all[name] = value
	}
	return all
}
