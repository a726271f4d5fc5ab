//go:build !linux

package main

func without() { panic("only Linux has what could be lacking") }
