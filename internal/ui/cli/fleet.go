package cli

import (
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
)

// Members compiles many targets, at the same time where the language can.
func (s *Printer) Members(in compile.Input, targets []string, lists bool) ([]compile.Member, diag.List) {
	if fleet := s.App.Language.Fleet; fleet != nil && (lists || len(targets) > 1) {
		return fleet(in, targets, lists)
	}
	var out []compile.Member
	var ds diag.List
	for _, t := range targets {
		in.Target = t
		res, more := s.App.Language.Compile(in)
		ds = append(ds, more...)
		if more.HasErrors() {
			continue
		}
		m := compile.Member{Target: t, Steps: len(res.List), Digest: res.List.Digest()}
		if lists {
			m.List = res.List
		}
		out = append(out, m)
	}
	return out, ds
}
