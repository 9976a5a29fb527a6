package main

import (
	"context"
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
	fettle, date, out string
	agents            []int
	modules, rounds   int
	concurrent        int
	rest              time.Duration
	patience, most    time.Duration
	limits, careful   bool
	onlyCommits       bool
	attackers         int
	pages             int
	descriptors       int // the limit of open files of the hub; 0 is the limit of this process
	files             int // the maximum of open files of a process
	short             int // this maximum, if it reduced a number of agents
}

const shortly = 10 * time.Millisecond

func parseFlags(args []string) (settings, error) {
	var s settings
	var agents string
	f := flag.NewFlagSet("fleet", flag.ContinueOnError)
	f.StringVar(&s.fettle, "fettle", "bin/fettle", "the fettle to measure")
	f.StringVar(&s.date, "date", os.Getenv("BENCH_DATE"), "the date that the page shows; or BENCH_DATE")
	f.StringVar(&s.out, "out", "docs", "directory for performance-fleet.md; empty writes none")
	f.StringVar(&agents, "agents", "1000,5000,10000", "numbers of agents")
	f.IntVar(&s.modules, "modules", 50, "modules that each agent has")
	f.IntVar(&s.rounds, "rounds", 3, "commits that are pushed; figures of them are their median")
	f.IntVar(&s.concurrent, "concurrent", 100, "rollouts at the same time, at most 100; 0 skips this part")
	f.IntVar(&s.attackers, "attackers", 1500, "connections of attackers while agents reconnect; 0 skips this part")
	f.IntVar(&s.pages, "pages", 0, "open pages during more commits in waves; 0 skips this part")
	f.IntVar(&s.descriptors, "descriptors", 0, "how many files the hub may open; 0 is as many as allowed")
	f.DurationVar(&s.rest, "rest", 150*time.Second,
		"how long nothing happens while memory is read: the median of the second half counts, since a hub gives back what it does not use every two minutes")
	f.DurationVar(&s.patience, "patience", 15*time.Minute, "how long any part may take")
	f.DurationVar(&s.most, "most", 2*time.Hour, "how long all may take")
	f.BoolVar(&s.limits, "limits", true, "measure what the parts cannot do without, too")
	f.BoolVar(&s.careful, "careful", true, "also measure a commit with the strategy careful, which waits for each agent")
	f.BoolVar(&s.onlyCommits, "only-commits", false, "only measure commits and rollouts, and write no page")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("cannot use %q: there are only flags; see -help", f.Arg(0))
	}
	for _, w := range strings.Split(agents, ",") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 || n > 50_000 {
			return s, fmt.Errorf("cannot use -agents %q: give whole numbers from 1 to 50000, such as 1000,5000", agents)
		}
		s.agents = append(s.agents, n)
	}
	if s.modules < 1 || s.modules > 1000 || s.rounds < 1 {
		return s, errors.New("cannot measure nothing: give 1 or more to -modules (at most 1000) and to -rounds")
	}
	if s.concurrent < 0 || s.concurrent > 100 {
		return s, errors.New("cannot use this number of rollouts: give at most 100 to -concurrent")
	}
	var err error
	s.fettle, err = filepath.Abs(s.fettle)
	return s, err
}

// pause waits for a duration, or returns the error of the context.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
