package place

import "golang.org/x/sys/unix"

// searchOnly opens a folder that may be passed through but not listed.
const searchOnly = unix.O_PATH
