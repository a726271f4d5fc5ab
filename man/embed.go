// Package man holds the manual. The pages of section 1 are made from the tree
// of commands by "make man"; those of sections 5 and 7 are written by hand.
package man

import "embed"

// FS has the pages, without folders.
//
//go:embed *.[157]
var FS embed.FS
