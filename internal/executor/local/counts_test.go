package local_test

import (
	"context"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// What a report counts as changed is what the history and the status count: the
// changes that took effect and are kept.
func TestCountsAgree(t *testing.T) {
	const list = "MKDIR /a\nEXEC ok ok\nEXEC x boom\nMKDIR /b\n"
	for _, c := range []struct {
		list, policy string
		want         int
	}{
		{"MKDIR /a\nEXEC ok ok\n", "stop", 2},
		{list, "stop", 2}, // before the failure
		{strings.ReplaceAll(list, "boom", "boom undo=ok"), "undo", 1},
		{strings.ReplaceAll(list, "EXEC ok ok", "EXEC ok ok undo=ok"), "undo", 0},
		{"EXEC g ok unless=ok\nMKDIR /a\n", "stop", 1},
	} {
		h := mem.New(mem.Options{Run: func(_ context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
			return host.CommandResult{ExitCode: map[string]int{"boom": 1}[c.Argv[0]]}, nil
		}})
		x, err := local.New(h, mem.New(mem.Options{}), local.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rep, _ := x.Apply(t.Context(), request(t, c.list), nil, executor.Options{OnFailure: c.policy}, nil)
		runs, err := x.Runs(t.Context())
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		st, err := x.Status(t.Context())
		if err != nil || rep.Changed != c.want || runs[0].Changed != c.want || st.Last.Changed != c.want {
			t.Errorf("%q, %s: the report counts %d, the history %d, the status %d, want %d: %v", c.list, c.policy, rep.Changed,
				runs[0].Changed, st.Last.Changed, c.want, err)
		}
	}
}
