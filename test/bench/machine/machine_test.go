package machine_test

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"fettle.dev/fettle/test/bench/machine"
)

func Example() {
	fmt.Println(machine.Output("echo", "one"), machine.Output("false"))
	// Output: one none
}

// Every fact of a machine has a value, wherever its files are.
func TestDescribe(t *testing.T) {
	facts, err := machine.Describe("", t.TempDir())
	if err != nil || facts[0].Value != "not told" {
		t.Fatal(facts, err)
	}
	for _, f := range facts {
		if f.Name == "" || f.Value == "" {
			t.Errorf("%+v is not whole", f)
		}
	}
}

// A program that is there is not installed, and what a program ends with is told.
func TestPrograms(t *testing.T) {
	if err := machine.Install("true", "no-such-package"); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := machine.Apart([]string{"false"}, 0); !errors.As(err, &exit) {
		t.Errorf("got %v, want the exit code of false", err)
	}
}
