//go:build !linux

package place

// searchOnly would open a folder that may be passed through but not listed.
const searchOnly = 0
