package journal

// appendRecord appends the output of Marshal for r, byte for byte. A run writes thousands of moves,
// and reflection would take most of their time.
func appendRecord(b []byte, r *Record) ([]byte, error) {
	o := object{b: append(b, '{')}
	o.text("k", string(r.Kind), true)
	o.number("t", r.At)
	o.number("i", int64(r.Change))
	o.text("a", string(r.Addr), false)
	o.number("b", int64(r.Batch))
	o.text("p", r.Path, false)
	o.text("tmp", r.Temp, false)
	o.flag("inplace", r.InPlace)
	o.text("ino", r.Inode, false)
	o.image("from", r.From)
	o.image("to", r.To)
	o.flag("back", r.Back)
	o.text("err", r.Error, false)
	o.text("txt", r.Text, false)
	if len(r.Cause) > 0 {
		o.any("cause", r.Cause)
	}
	o.number("deadline", r.Deadline)
	if r.Header != nil {
		o.any("run", r.Header)
	}
	o.text("outcome", string(r.Outcome), false)
	if r.Summary != nil {
		o.any("sum", r.Summary)
	}
	if r.State != nil {
		o.state("state", r.State)
	}
	o.unsigned("d", r.Synced)
	return append(o.b, '}'), o.err
}
