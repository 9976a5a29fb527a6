package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	slashpath "path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/exec"
)

// informed compiles the request again with the outputs that the machine has by now, until
// no further outputs are found.
func (x *looks) informed(r *executor.Request) error {
	for range step.MaxPhases {
		if r.Next == nil {
			return nil
		}
		known, err := x.known(r.Outputs)
		if err != nil || maps.Equal(known, r.Known) {
			return err
		}
		next, err := r.Next(known)
		if err != nil {
			return err
		}
		next.Repair, next.Diffs, next.Verify, next.Guards = r.Repair, r.Diffs, r.Verify, r.Guards
		next.Repository, next.Adopt = r.Repository, r.Adopt
		*r = next
	}
	return errors.New("the outputs of commands lead to new commands without end; check the states that use .result")
}

// known returns the known outputs: the text that a command with exactly this step
// printed, or the present content of the file that it writes.
func (x *looks) known(refs []executor.OutputRef) (executor.Known, error) {
	st, err := x.store.State()
	if err != nil {
		return nil, fmt.Errorf("cannot read the applied state: %w", err)
	}
	entries := make(map[addr.Addr]journal.Entry, len(refs))
	for _, e := range st.Entries {
		if e.Addr.Kind() == addr.KindExec {
			entries[e.Addr] = e
		}
	}
	out := executor.Known{}
	for _, ref := range refs {
		e := entries[ref.Addr]
		if path := ref.Step.Get("output"); path != step.OutputStdout {
			if text, ok, err := x.outputFile(path); err != nil {
				return nil, fmt.Errorf("cannot use %s, the output of %s: %w", path, ref.Addr, err)
			} else if ok {
				out[ref.Addr] = text
			}
		} else if e.Output != nil && e.Step.Same(ref.Step) {
			out[ref.Addr] = *e.Output
		}
	}
	return out, nil
}

// outputFile reads a file that a command wrote, also through links; ok is false
// where there is none.
func (x *looks) outputFile(path string) (text string, ok bool, err error) {
	const links = 8
	for range links {
		st, err := x.host.Lstat(path)
		if err != nil || st.Type != image.Symlink {
			break
		}
		to, err := x.host.Readlink(path)
		if err != nil {
			break
		}
		if path = slashpath.Join(slashpath.Dir(path), to); slashpath.IsAbs(to) {
			path = slashpath.Clean(to)
		}
	}
	f, err := x.host.Open(path)
	if err != nil && (errors.Is(err, fs.ErrNotExist) || host.IsNotDir(err)) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, exec.MaxOutput+2))
	if err != nil {
		return "", false, err
	}
	text, err = exec.Output(b)
	return text, err == nil, err
}
