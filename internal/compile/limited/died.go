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
	"fettle.dev/fettle/internal/size"
)

// note is the form of a place in the notes of the child: line, column, byte and file.
func note(r diag.Range) string {
	return fmt.Sprintf("%d %d %d %s", r.Start.Line, r.Start.Column, r.Start.Byte, r.File)
}

// place parses a note. The child is not trusted, so only a file of the tree is accepted.
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
		"fettle compiles in a separate process with limits, and cannot start it: %v. Free memory or raise the limit of processes (ulimit -u), then run fettle again.", err)}
}

// died returns a diagnostic with the reason for the end of a child, its last place, and the remedy.
func (c *Compiler) died(tree repo.Tree, end sandbox.End, words string, err, cause error) diag.List {
	rng, src := place(tree, end.Note)
	where := "The compiler was processing this place."
	if rng.File == "" {
		where = "The compiler had not read any file."
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
		return "Compiling took too long", fmt.Sprintf(
			"fettle stopped the compiler after %s. Look for loops that multiply values, or allow more time: "+
				"--compile-timeout %s.", c.timeout, 4*c.timeout)
	case cause != nil:
		return "Compiling was interrupted", fmt.Sprintf("The compiler was stopped: %v. Run the command again.", cause)
	case end.OutOfStack():
		return "Too deeply nested", "The compiler needed more stack than is available. Split nested expressions with locals."
	case end.OutOfMemory():
		return "Compiling took too much memory", fmt.Sprintf(
			"fettle stopped the compiler at %s of memory. Look for loops that multiply values, or allow more memory: "+
				"--compile-memory %s.", size.Text(memory), size.Text(4*memory))
	case end.Killed && end.CPU >= limits.CPU-time.Second:
		return "Compiling took too long", fmt.Sprintf(
			"fettle stopped the compiler after %s of CPU time. Look for loops that multiply values, or allow more time: "+
				"--compile-timeout %s.", end.CPU.Round(time.Second), 4*c.timeout)
	case end.Signal != "":
		return "Compiler was killed", fmt.Sprintf(
			"The compiler was killed with the signal %q. If memory is short, the kernel does this. Free memory, then run fettle again.",
			end.Signal)
	case errors.Is(err, child.ErrNonsense):
		return "Invalid answer of the compiler", fmt.Sprintf(
			"The compiler process returned invalid data: %v. The repository may have attacked the compiler; do not trust it. "+
				"If you trust the repository, this is a bug in fettle; please report it.", err)
	}
	return "Compiler crashed", fmt.Sprintf(
		"The compiler process ended unexpectedly (%s). This is a bug in fettle; please report it. Until it is fixed, "+
			"remove the configuration at this place.", words)
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
