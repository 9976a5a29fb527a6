package records

import (
	"fmt"
	"reflect"
	"testing"
)

// Targets of the registry with equal labels share memory.
func TestLabelsAreShared(t *testing.T) {
	var table Table
	labels := func(name, labels string) uintptr {
		t.Helper()
		got, err := table.ParseTarget(fmt.Appendf(nil,
			`{"id":"","name":%q,"labels":%s,"standing":"active","key":"","enrolled":0,"changed":0}`, name, labels))
		if err != nil || got.Name != name || len(got.Labels) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		return reflect.ValueOf(got.Labels).Pointer()
	}
	one, two := labels("a", `{"role":"web","env":"prod"}`), labels("b", `{"env":"prod","role":"web"}`)
	other := labels("c", `{"role":"web","env":"test"}`)
	if one != two || one == other {
		t.Error("what is the same is not shared, or what is not")
	}
}
