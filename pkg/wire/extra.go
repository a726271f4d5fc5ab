package wire

// Extras returns the foreign fields that r carries.
func (r Result) Extras() Extra { return r.Extra }

// Extras returns the foreign fields that d carries.
func (d Decision) Extras() Extra { return d.Extra }
