package limited

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/compile/child"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/sandbox"
)

// note is a place as the child keeps it: line, column, byte and file.
func note(r diag.Range) string {
	return fmt.Sprintf("%d %d %d %s", r.Start.Line, r.Start.Column, r.Start.Byte, r.File)
}

// place reads a note. The child may have been made to write anything, so only
// a file of the tree counts.
func place(tree repo.Tree, text string) (r diag.Range, src []byte) {
	f := strings.SplitN(text, " ", 4)
	if len(f) != 4 || !fs.ValidPath(f[3]) {
		return diag.Range{}, nil
	}
	src, err := tree.ReadFile(f[3])
	if err != nil {
		return diag.Range{}, nil
	}
	r.File = f[3]
	for i, p := range []*int{&r.Start.Line, &r.Start.Column, &r.Start.Byte} {
		n, err := strconv.Atoi(f[i])
		if err != nil || n < 0 || n > len(src)+1 {
			return diag.Range{File: r.File}, src
		}
		*p = n
	}
	r.End = r.Start
	return r, src
}

func cannotStart(err error) diag.List {
	return diag.List{diag.Errorf(diag.Range{}, "Compiler cannot start",
		"Repositories are compiled in a process of their own, with limits. %v. Free memory or raise the limit of processes (ulimit -u), then run again.", err)}
}

// died returns a diagnostic with the reason for the end of a child, its last place, and the remedy.
func (c *Compiler) died(tree repo.Tree, end sandbox.End, words string, err, cause error) diag.List {
	rng, src := place(tree, end.Note)
	where := "This is what was worked on last."
	if rng.File == "" {
		where = "It had not begun to read files."
	}
	summary, detail := c.reason(end, words, err, cause)
	return diag.List{diag.Errorf(rng, summary, "%s %s", detail, where).WithLine(src)}
}

func (c *Compiler) reason(end sandbox.End, words string, err, cause error) (summary, detail string) {
	limits := c.limits()
	memory := limits.Memory
	if memory <= 0 {
		memory = sandbox.DefaultMemory
	}
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return "Compiling took too long", fmt.Sprintf("Compiling was ended after %s. Take apart what multiplies itself, or allow more: --compile-timeout %s.", c.timeout, 4*c.timeout)
	case cause != nil:
		return "Compiling was interrupted", fmt.Sprintf("Compiling was ended: %v. Run it again.", cause)
	case end.OutOfStack():
		return "Too deeply nested", "Compiling needed more stack than there is. Use locals to take apart what is nested."
	case end.OutOfMemory():
		return "Compiling took too much memory", fmt.Sprintf("Compiling was ended at %d MiB. Take apart what multiplies itself, or allow more: --compile-memory %d.", memory>>20, 4*memory>>20)
	case end.Killed && end.CPU >= limits.CPU-time.Second:
		return "Compiling took too long", fmt.Sprintf("Compiling was ended after %s of processor time. Take apart what multiplies itself, or allow more: --compile-timeout %s.", end.CPU.Round(time.Second), 4*c.timeout)
	case end.Signal != "":
		return "Compiler was killed", fmt.Sprintf("Somebody ended the compiler with the signal %q; where memory is short, it is the kernel. Free some, then run again.", end.Signal)
	case errors.Is(err, child.ErrNonsense):
		return "Compiler made no sense", fmt.Sprintf("What came back is not what a compiler says: %v. Do not trust this repository; if you do, this is a mistake of fettle, and a report helps.", err)
	}
	return "Compiler broke", fmt.Sprintf("It ended by itself (%s). This is a mistake of fettle, and a report helps. Until then, leave out what is at this place.", words)
}

// firstLine returns the first nonempty line of the child's output, with control characters escaped.
func firstLine(text string, err error) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			q := strconv.Quote(line)
			return q[1 : len(q)-1][:min(len(q)-2, 300)]
		}
	}
	return fmt.Sprint(err)
}
