// Package jail runs a program behind the walls of the kernel: in user, mount,
// pid and ipc namespaces, with everything read-only but what is listed, masks
// over what it must not see, no capabilities, no_new_privs and Landlock on top.
// Where the kernel gives no namespaces, Landlock or no_new_privs alone are left;
// a Plan says which, and Walls tells what this machine can.
//
// It knows nothing of kx: what is masked and what can be written is for the
// caller to say (internal/gate/sandbox). proc starts what Prepare makes.
//
// The program runs below a copy of this executable, which is the first process
// of the pid namespace: it builds the walls, starts the program, reaps, passes
// signals on and ends with it; then the kernel ends whatever is left. It also
// ends when the process that started it does.
package jail

// Name is argv[0] of the process that builds the walls.
const Name = "kx-sandbox"

// Kind is how much of a wall there is.
type Kind string

const (
	Full     Kind = "full"     // namespaces, and Landlock where the kernel has it
	Landlock Kind = "landlock" // Landlock and no_new_privs
	None     Kind = "none"     // no_new_privs
)

// The versions of Landlock from which on it knows more than files: abstract sockets
// and signals, sockets by their path.
const (
	ABIScopes  = 6
	ABISockets = 9
)

// Plan is a program and its walls. Paths are absolute and canonical.
type Plan struct {
	Kind    Kind
	Argv    []string // Argv[0] is the path of the program
	Dir     string
	Network bool
	Minimal bool // a /dev of the plain nodes only, and /proc read-only: for root

	// Mounts are what the program sees beside a read-only view of everything, in
	// the order in which they are mounted: one inside of another one comes later.
	Mounts []Mount
	// Pinned are folders inside of what can be written that can't be moved away,
	// Fixed are folders and files there that can't be changed either. What is
	// not there is passed over.
	Pinned []string
	Fixed  []string
	// Masked are folders that look empty, and files and sockets that are of no
	// use. Exposed are seen all the same, inside of a masked or a mounted folder.
	// What is not there is passed over.
	Masked  []string
	Exposed []string
}

// Mount is a folder or file and where the program sees it. It can be written,
// unless ReadOnly says that it can't; with Upper set, changes go there instead,
// and Work is a folder beside it on the same file system.
type Mount struct {
	Source, Target string
	ReadOnly       bool
	Upper, Work    string
}

// Report is what the first process says at its end.
type Report struct {
	Exit   int    // the exit status of the program; 128+n where signal n ended it
	Signal string // the name of that signal
	Failed string // why the program was not started
	Errno  int    // of the call that failed, 0 if it was none

	OwnProc bool // the program saw the processes of its own namespace only
}
