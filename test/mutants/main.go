package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
)

// settings are the flags.
type settings struct {
	root, equivalent, tests, run, skip, only string
	count                                    int
	seed                                     uint64
	floor                                    float64
	list                                     bool
	directories                              []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string) (settings, error) {
	var s settings
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	f.StringVar(&s.equivalent, "equivalent", "test/mutants/equivalent.txt", "the mutants that change nothing")
	f.StringVar(&s.tests, "tests", "", "directories whose tests look, with commas (default: the package's own)")
	f.StringVar(&s.run, "run", "", "only tests that match, as with go test")
	f.StringVar(&s.skip, "skip", "", "no tests that match, as with go test: tests that take minutes under load")
	f.StringVar(&s.only, "only", "", "only mutants whose place or name matches this expression")
	f.IntVar(&s.count, "count", 0, "take a sample of this many from each package; 0 takes all")
	f.Uint64Var(&s.seed, "seed", 1, "which sample: the same seed takes the same from the same code")
	f.Float64Var(&s.floor, "floor", 0, "fail when less than this many percent are killed")
	f.BoolVar(&s.list, "list", false, "only print the mutants")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if s.directories = f.Args(); len(s.directories) == 0 {
		return s, errors.New("name the directories of the packages to break, such as internal/journal")
	}
	var err error
	s.root, err = os.Getwd()
	return s, err
}

func run(ctx context.Context, args []string) error {
	s, err := parseFlags(args)
	if err != nil {
		return err
	}
	known, err := readEquivalents(s.equivalent)
	if err != nil {
		return err
	}
	var below []error // of all packages, so that all failures are reported
	for _, directory := range s.directories {
		err := one(ctx, s, strings.Trim(directory, "./"), known)
		if err != nil && !errors.Is(err, errFloor) && !errors.Is(err, errGone) {
			return err
		}
		below = append(below, err)
	}
	return errors.Join(below...)
}

// Errors about one package, which hide nothing of the other packages.
var (
	errFloor = errors.New("too few mutants are killed")
	errGone  = errors.New("the list of mutants that change nothing is out of date")
)

// one breaks the code of one package.
func one(ctx context.Context, s settings, directory string, known equivalents) error {
	t, err := load(s.root, directory)
	if err != nil {
		return err
	}
	all, err := t.mutants()
	if err != nil {
		return err
	}
	gone := known.stale(directory, all)
	chosen, same, err := sample(t, all, s, known)
	if err != nil {
		return err
	}
	if s.list {
		for _, m := range chosen {
			fmt.Printf("%s:%d: %s\n", m.file, m.line, m.name())
		}
		return gone
	}
	return errors.Join(gone, judge(ctx, t, s, chosen, same))
}

// sample chooses mutants that compile, in the order of the seed. same is the number of omitted mutants
// without an effect.
func sample(t *target, all []mutant, s settings, known equivalents) (chosen []mutant, same int, err error) {
	only, err := regexp.Compile(s.only)
	if err != nil {
		return nil, 0, err
	}
	all = slices.Clone(all)
	rng := rand.New(rand.NewPCG(s.seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, m := range all {
		if s.count > 0 && len(chosen) == s.count {
			break
		}
		text, err := t.edited(m)
		if err != nil {
			return nil, 0, err
		}
		switch {
		case !only.MatchString(fmt.Sprintf("%s:%d: %s", m.file, m.line, m.name())) || !t.compiles(m.file, text):
		case known[m.name()] != "":
			same++
		default:
			chosen = append(chosen, m)
		}
	}
	slices.SortFunc(chosen, func(a, b mutant) int {
		return strings.Compare(fmt.Sprintf("%s:%9d", a.file, a.start), fmt.Sprintf("%s:%9d", b.file, b.start))
	})
	return chosen, same, nil
}

// judge runs the tests against every mutant and prints who survived.
func judge(ctx context.Context, t *target, s settings, chosen []mutant, same int) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{t: t, tests: []string{t.directory}, run: s.run, skip: s.skip, dir: dir}
	if s.tests != "" {
		b.tests = strings.Split(s.tests, ",")
	}
	if err := b.prepare(ctx, chosen); err != nil {
		return err
	}
	killed := 0
	for _, m := range chosen {
		dead, err := b.kills(ctx, m)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		word := "survived"
		if dead {
			word = "killed  "
			killed++
		}
		fmt.Printf("%s %s:%d: %s\n", word, m.file, m.line, m.name())
	}
	percent := 100 * float64(killed) / float64(max(1, len(chosen)))
	fmt.Printf("%s: %d mutants (seed %d), %d killed, %d survived: %.1f %% killed; %d more change nothing\n",
		t.directory, len(chosen), s.seed, killed, len(chosen)-killed, percent, same)
	if len(chosen) > 0 && percent < s.floor {
		return fmt.Errorf("%s: %.1f %% of the mutants are killed, the floor is %g: write tests that fail with the survivors, or give the reason in %s: %w", t.directory, percent, s.floor, s.equivalent, errFloor)
	}
	return nil
}
