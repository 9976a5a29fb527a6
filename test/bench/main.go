package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// settings are the flags.
type settings struct {
	fettle, dir, date, out string
	sizes                  []int
	rounds                 int
	slow                   time.Duration
	peers                  bool
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is one of the small processes that the benchmark itself starts, or the
// benchmark.
func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "measure":
			return measureMain(args[1:])
		case "limit":
			return limitMain(args[1:])
		}
	}
	s, err := parseFlags(args)
	if err != nil {
		return err
	}
	return benchmark(s)
}

func parseFlags(args []string) (settings, error) {
	var s settings
	var sizes string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&s.fettle, "fettle", "bin/fettle", "the fettle to measure")
	f.StringVar(&s.dir, "dir", "", "work in a new folder below this one, on the file system to be measured (default: the one for temporary files)")
	f.StringVar(&s.date, "date", os.Getenv("BENCH_DATE"), "the date that the report shows; or BENCH_DATE")
	f.StringVar(&s.out, "out", "docs", "folder for performance.md and performance.svg; empty writes neither")
	f.StringVar(&sizes, "sizes", "100,1000,10000", "numbers of files")
	f.IntVar(&s.rounds, "rounds", 3, "rounds; every figure is their median")
	f.DurationVar(&s.slow, "slow", 5*time.Second, "measure a run that takes longer than this in one round only")
	f.BoolVar(&s.peers, "peers", true, "measure cf-agent too; as root it is installed when missing")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	for _, w := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 100 {
			return s, fmt.Errorf("cannot use -sizes %q: give whole numbers from 100 on, such as 100,1000", sizes)
		}
		s.sizes = append(s.sizes, n)
	}
	if s.rounds < 1 {
		return s, errors.New("cannot measure in no round: give -rounds 3")
	}
	var err error
	s.fettle, err = filepath.Abs(s.fettle)
	return s, err
}

// benchmark measures everything and writes the report.
func benchmark(s settings) error {
	base, err := os.MkdirTemp(s.dir, "fettle-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	tools, notes, err := allTools(s)
	if err != nil {
		return err
	}
	b := &bench{settings: s, base: base, tools: tools, notes: notes, results: map[cell][]sample{}, broken: map[cell]string{}}
	if err := b.all(); err != nil {
		return err
	}
	m, err := describe(s, base)
	if err != nil {
		return err
	}
	fmt.Print(b.table(plain))
	for _, n := range b.notes {
		fmt.Println(n)
	}
	if s.out == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(s.out, "performance.svg"), []byte(plot(b)), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.out, "performance.md"), []byte(report(b, m)), 0o644)
}
