package exec

import (
	"context"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// programs is a host with the programs true and false.
func programs() *mem.Host {
	return mem.New(mem.Options{Run: func(_ context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
		if c.Argv[0] == "false" {
			return host.CommandResult{ExitCode: 1, Stderr: []byte(strings.Repeat("noise\n", 40) + "the reason\n")}, nil
		}
		return host.CommandResult{}, nil
	}})
}

func TestGuards(t *testing.T) {
	h := programs()
	f, err := h.Create("/there")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for words, want := range map[string]image.Exec{
		"only_if=true": {Known: true}, "only_if=false": {Known: true, Done: true, NotWanted: true},
		"unless=true": {Known: true, Done: true}, "unless=false": {Known: true},
		"creates=/there": {Known: true, Done: true}, "creates=/missing": {Known: true}, "creates=/there/below": {Known: true},
		"creates=/missing unless=true": {Known: true, Done: true},
		"unless=false only_if=false":   {Known: true, Done: true, NotWanted: true},
		"unless=false only_if=true":    {Known: true}, "": {},
	} {
		l, ds := step.Parse("list", []byte("EXEC x /bin/x "+words+"\n"))
		if ds.Err() != nil {
			t.Fatal(ds.Err())
		}
		got, err := Exec{}.Observe(context.Background(), verb.Env{Host: h}, l[0])
		if err != nil || *got.Exec() != want {
			t.Errorf("%q: %+v %v, want %+v", words, got.Exec(), err, want)
		}
	}
}

func TestErrorEndsWithWhatTheCommandSaid(t *testing.T) {
	err := Run(context.Background(), programs(), host.Command{Argv: []string{"false"}})
	if err == nil || !strings.HasSuffix(err.Error(), "the reason") || strings.Count(err.Error(), "noise") >= lines {
		t.Errorf("%v", err)
	}
}
