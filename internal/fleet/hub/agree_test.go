package hub_test

import "encoding/json"

// agree waits until the answers of all hubs are identical.
func (w *several) agree(path string) {
	w.t.Helper()
	until(w.t, "all hubs agree on "+path, func() ([]string, bool) {
		var all []string
		for _, o := range w.hubs {
			var text json.RawMessage
			if err := o.ask("GET", path, nil, &text); err != nil {
				return append(all, err.Error()), false
			}
			all = append(all, string(text))
		}
		for _, one := range all {
			if one != all[0] || len(one) < 60 {
				return all, false
			}
		}
		return all, true
	})
}
