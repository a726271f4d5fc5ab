package lsp

import (
	"strconv"
	"strings"

	"github.com/kxtools/kx/internal/base/fail"
	"github.com/kxtools/kx/pkg/wire"
)

// parse reads an address: FILE:LINE:COL, FILE:LINE:NAME or FILE:LINE:NAME#N. The name
// of a file may hold anything, so it is read from its end; what is a file as a whole is
// one.
func parse(text string, isFile func(string) bool) (wire.CodeQuery, error) {
	wrong := func(format string, args ...any) (wire.CodeQuery, error) {
		return wire.CodeQuery{}, fail.Usage(format, args...).WithHint("kx lsp --help")
	}
	if text == "" {
		return wrong("the address is empty: expected FILE:LINE:COL or FILE:LINE:NAME")
	}
	if isFile(text) {
		return wrong("%.200q is a file; say where in it: FILE:LINE:COL or FILE:LINE:NAME", text)
	}
	file, line, last, ok := split(text)
	if !ok {
		if head, tail, ok := cutLast(text); ok && digits(tail) && head != "" && !strings.Contains(head, ":") {
			return wrong("%.200q has a line and no column: expected FILE:LINE:COL or FILE:LINE:NAME", text)
		}
		return wrong("%.200q is no address: expected FILE:LINE:COL or FILE:LINE:NAME", text)
	}
	q := wire.CodeQuery{Path: file}
	if q.Line, ok = number(line); !ok {
		return wrong("the line in %.200q: lines are numbers from 1", text)
	}
	if digits(last) {
		if q.Column, ok = number(last); !ok {
			return wrong("the column in %.200q: columns are numbers from 1", text)
		}
		return q, nil
	}
	q.Name = last
	if at := strings.LastIndexByte(last, '#'); at >= 0 && digits(last[at+1:]) {
		q.Name = last[:at]
		if q.Occurrence, ok = number(last[at+1:]); !ok {
			return wrong("NAME#N in %.200q: N counts from 1", text)
		}
	}
	if q.Name == "" {
		return wrong("%.200q ends without a column or a name", text)
	}
	return q, nil
}

// split takes the two parts off the end of an address. The line has to be a number,
// or it is none.
func split(text string) (file, line, last string, ok bool) {
	head, last, ok := cutLast(text)
	if !ok {
		return "", "", "", false
	}
	file, line, ok = cutLast(head)
	return file, line, last, ok && file != "" && digits(line)
}

func cutLast(s string) (head, tail string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// number reads a line, a column or a count.
func number(s string) (int, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil && n > 0
}
