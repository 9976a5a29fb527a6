package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

// fault is an error under way.
type fault struct {
	Text  string    `json:"text"`
	Is    []string  `json:"is,omitempty"`
	Diags diag.List `json:"diags,omitempty"`
	// Result is valid beside the error: the report of a failed run.
	Result json.RawMessage `json:"result,omitempty"`
}

// classes are the errors that callers distinguish, by name.
func classes() map[string]error {
	return map[string]error{
		"locked": executor.ErrLocked, "stale": executor.ErrStale, "blocked": executor.ErrBlocked,
		"check-failed": executor.ErrCheckFailed, "rolled-back": executor.ErrUndone,
		"frozen": executor.ErrFrozen, "no-slot": executor.ErrNoSlot, "irreversible": executor.ErrIrreversible,
		"foreign":  executor.ErrForeign,
		"canceled": context.Canceled, "deadline": context.DeadlineExceeded,
		"not-exist": fs.ErrNotExist, "permission": fs.ErrPermission, "lost": ErrLost, "unsigned": ErrUnsigned,
	}
}

func faultOf(err error, result any) fault {
	f := fault{Text: err.Error()}
	for _, name := range classNames() {
		if errors.Is(err, classes()[name]) {
			f.Is = append(f.Is, name)
		}
	}
	var list *diag.ListError
	if errors.As(err, &list) {
		f.Diags = list.List
	}
	if result != nil && !isNil(result) {
		f.Result, _ = journal.Marshal(result)
	}
	return f
}

func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

func classNames() []string { return slices.Sorted(maps.Keys(classes())) }

// remoteError is an error of the other end, with its text and its class.
type remoteError struct {
	text   string
	is     []error
	result json.RawMessage
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.is }

func errorOf(text []byte) error {
	var f fault
	if err := journal.UnmarshalStrict(text, &f); err != nil {
		return fmt.Errorf("cannot read the other end's error: %w", err)
	}
	e := &remoteError{text: f.Text, result: f.Result}
	for _, name := range f.Is {
		if class := classes()[name]; class != nil {
			e.is = append(e.is, class)
		}
	}
	if err := f.Diags.Err(); err != nil {
		e.is = append(e.is, err)
	}
	return e
}
