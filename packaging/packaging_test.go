package packaging_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"fettle.dev/fettle/packaging"
)

func ExampleUnit() {
	text, err := packaging.Unit("fettle-agent.service")
	_, rest, _ := bytes.Cut(text, []byte("ExecStart="))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	fmt.Println(string(line), err)
	// Output: /usr/bin/fettle agent run <nil>
}

func TestUnits(t *testing.T) {
	for _, name := range packaging.AgentUnits() {
		if text, err := packaging.Unit(name); err != nil || len(text) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := packaging.Unit("other.service"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
