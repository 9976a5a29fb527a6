package order

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/repo"
)

// blocks is a repository of commands, some of them in blocks that are rescued, each
// after some of those that are declared before it.
type blocks struct {
	of    []int   // the block of each command, -1 for none
	after [][]int // commands, and blocks as -1-b
	fails []bool
}

func drawBlocks(t *rapid.T) *blocks {
	n := rapid.IntRange(1, 10).Draw(t, "commands")
	b := &blocks{}
	block := -1
	for i := range n {
		in := -1
		if rapid.Bool().Draw(t, "in a block") {
			if i == 0 || b.of[i-1] < 0 || rapid.Bool().Draw(t, "another block") {
				block++
			}
			in = block
		}
		var after []int
		for j := range i {
			if rapid.IntRange(0, 4).Draw(t, "after") > 0 {
				continue
			}
			if b.of[j] >= 0 && b.of[j] != in && rapid.Bool().Draw(t, "after the block") {
				after = append(after, -1-b.of[j])
			} else {
				after = append(after, j)
			}
		}
		b.of, b.after = append(b.of, in), append(b.after, after)
		b.fails = append(b.fails, rapid.IntRange(0, 3).Draw(t, "fails") == 0)
	}
	return b
}

func (b *blocks) text() string {
	var out strings.Builder
	for i, in := range b.of {
		if in >= 0 && (i == 0 || b.of[i-1] != in) {
			fmt.Fprintf(&out, "block \"b%d\" {\n  rescue = [exec.r%d]\n", in, in)
		}
		var after []string
		for _, a := range b.after[i] {
			if a < 0 {
				after = append(after, fmt.Sprintf("block.b%d", -1-a))
			} else {
				after = append(after, fmt.Sprintf("exec.c%d", a))
			}
		}
		fmt.Fprintf(&out, "exec \"c%d\" {\n  command = \"did c%d\"\n  after   = [%s]\n}\n", i, i, strings.Join(after, ", "))
		if in >= 0 && (i == len(b.of)-1 || b.of[i+1] != in) {
			fmt.Fprintf(&out, "}\nexec \"r%d\" {\n  command = \"did r%d\"\n  lazy    = true\n}\n", in, in)
		}
	}
	return out.String()
}

// behind tells whether command i comes after something in a block.
func (b *blocks) behind(i, block int) bool {
	return slices.ContainsFunc(b.after[i], func(a int) bool {
		if a >= 0 {
			return b.of[a] == block || b.behind(a, block)
		}
		for j, in := range b.of {
			if in == -1-a && (in == block || b.behind(j, block)) {
				return true
			}
		}
		return false
	})
}

// trace is what has to happen, by a walk over what is declared.
func (b *blocks) trace() string {
	var out strings.Builder
	failed := map[int]bool{}
	ended, left := false, 0
	for i, in := range b.of {
		barred := failed[in]
		for block := range failed {
			barred = barred || b.behind(i, block)
		}
		switch {
		case ended || barred:
			left++
		case !b.fails[i]:
			fmt.Fprintf(&out, "c%d\n", i)
		case in < 0:
			fmt.Fprintf(&out, "c%d fails\n", i)
			ended = true
		default:
			fmt.Fprintf(&out, "c%d fails\nr%d\n", i, in)
			failed[in] = true
		}
	}
	how := "succeeded"
	if ended || len(failed) > 0 {
		how = "failed"
	}
	return out.String() + fmt.Sprintf("(%s, %d not reached)\n", how, left)
}

// TestRescuedBlocks: of any blocks, orders and failures, exactly that runs which is
// neither in a block that failed nor after one, until something fails outside.
func TestRescuedBlocks(t *testing.T) {
	drawn, wrong := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if drawn++; drawn > rounds && !wrong { // what is wrong is drawn again, to make it small
			return
		}
		b := drawBlocks(rt)
		m := newMachine(t)
		for i, fails := range b.fails {
			m.fails[fmt.Sprintf("c%d", i)] = fails
		}
		if got := m.apply(repo.MapTree(map[string]string{"fettle.hcl": b.text()})); got != b.trace() {
			wrong = true
			rt.Fatalf("%s\ngives\n%s\nwant\n%s", b.text(), got, b.trace())
		}
	})
}
