package sysctl

import (
	"context"
	"errors"
	"testing"

	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

func TestObserveAndTarget(t *testing.T) {
	h := mem.New(mem.Options{})
	for _, d := range []string{"/proc", "/proc/sys", "/proc/sys/net", "/proc/sys/net/eth0.1"} {
		if err := h.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f, err := h.Create("/proc/sys/net/eth0.1/range")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.Write([]byte("32768\t60999\n")); err != nil {
		t.Fatal(err)
	}
	f.Close()
	l, ds := step.Parse("list", []byte("SYSCTL net.eth0/1.range value=\"32768  60999\"\nSYSCTL net.none value=1\n"))
	if ds.Err() != nil {
		t.Fatal(ds.Err())
	}
	now, err := Sysctl{}.Observe(context.Background(), verb.Env{Host: h}, l[0])
	to, terr := Sysctl{}.Target(l[0], now, nil)
	if err != nil || terr != nil || !now.Same(to) || now.Sysctl().Value != "32768 60999" {
		t.Errorf("%+v %v, %+v %v", now.Sysctl(), err, to.Sysctl(), terr)
	}
	now, err = Sysctl{}.Observe(context.Background(), verb.Env{Host: h}, l[1])
	if err != nil || now.Sysctl().Present {
		t.Errorf("none: %+v %v", now.Sysctl(), err)
	}
	var later *verb.NotYetError
	if _, err = (Sysctl{}).Target(l[1], now, nil); !errors.As(err, &later) {
		t.Errorf("none: %v", err)
	}
}
