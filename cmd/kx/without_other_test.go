//go:build !linux

package main

func without() { panic("only Linux has what could be lacking") }

func rogue() { panic("only Linux has what it attacks") }
