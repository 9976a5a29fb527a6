package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// settings are the flags.
type settings struct {
	fettle, dir, date, out string
	sizes                  []int
	rounds, once           int
	slow, within           time.Duration
	peers                  bool
	chapters               bool           // only those of works go into the report that is there
	works, tools           *regexp.Regexp // nil is all
}

func parseFlags(args []string) (settings, error) {
	var s settings
	var sizes, works, tools string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&s.fettle, "fettle", "bin/fettle", "the fettle to measure")
	f.StringVar(&s.dir, "dir", "",
		"work in a new directory below this one, on the file system to be measured (default: the one for temporary files)")
	f.StringVar(&s.date, "date", os.Getenv("BENCH_DATE"), "the date that the report shows; or BENCH_DATE")
	f.StringVar(&s.out, "out", "docs",
		"directory for performance.md and performance.svg; empty writes neither, and so does a run of a part")
	f.StringVar(&sizes, "sizes", "100,1000,10000,100000", "numbers of files")
	f.IntVar(&s.rounds, "rounds", 3, "rounds; every figure is their median")
	f.IntVar(&s.once, "once", 100000, "measure this number of files and more in one round only")
	f.DurationVar(&s.slow, "slow", 5*time.Second, "measure a peer whose runs take longer than this in one round only")
	f.DurationVar(&s.within, "within", 12*time.Minute, "begin no further round of the same after this time")
	f.BoolVar(&s.peers, "peers", true, "measure the peers too; as root they are installed when missing")
	f.BoolVar(&s.chapters, "chapters", false, "with -works: put the chapters of these works into the report that is there")
	f.StringVar(&works, "works", "", "measure only the works that this expression matches, such as '^no change$'")
	f.StringVar(&tools, "tools", "", "measure only the tools that this expression matches, such as 'limit|one tree'")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("cannot use %q: there are only flags; see -help", f.Arg(0))
	}
	return s.complete(sizes, works, tools)
}

// complete turns the flags that are texts into what they mean.
func (s settings) complete(sizes, works, tools string) (settings, error) {
	for _, w := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 100 || n > 100_000 {
			return s, fmt.Errorf("cannot use -sizes %q: give whole numbers from 100 to 100000, such as 100,1000", sizes)
		}
		s.sizes = append(s.sizes, n)
	}
	if s.rounds < 1 {
		return s, errors.New("cannot measure in no round: give -rounds 3")
	}
	var err error
	if s.works, err = expression("works", works); err != nil {
		return s, err
	}
	if s.tools, err = expression("tools", tools); err != nil {
		return s, err
	}
	switch {
	case s.chapters && (s.works == nil || s.tools != nil):
		return s, errors.New("cannot use -chapters: use it with -works and without -tools")
	case !s.chapters && (s.works != nil || s.tools != nil):
		s.out = ""
	}
	s.fettle, err = filepath.Abs(s.fettle)
	return s, err
}

func expression(flag, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("cannot use -%s: %w", flag, err)
	}
	return re, nil
}

// wanted tells whether a work with a tool is asked for.
func (s settings) wanted(w work, tool string) bool {
	return (s.works == nil || s.works.MatchString(string(w))) && (s.tools == nil || s.tools.MatchString(tool))
}

// part leaves out the tools and the works of a field that nobody asks for, so
// that nothing is prepared for them.
func (s settings) part(f field) field {
	all := f
	f.tools, f.works = nil, nil
	for _, t := range all.tools {
		if s.tools == nil || s.tools.MatchString(t.name) {
			f.tools = append(f.tools, t)
		}
	}
	for _, w := range all.works {
		if s.works == nil || s.works.MatchString(string(w)) {
			f.works = append(f.works, w)
		}
	}
	if len(f.tools) == 0 || len(f.works) == 0 {
		f.sizes = nil
	}
	return f
}
