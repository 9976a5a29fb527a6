package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
)

// changeName is the variable that holds a mark: see host.WithMark.
const changeName = "FETTLE_CHANGE="

var _ host.Reaper = (*Host)(nil)

// Reap implements host.Reaper. The engine that started these programs is dead, so their parent is
// the process that adopts orphans, and they belong to no other tree.
func (h *Host) Reap(ctx context.Context, lost func(mark string) (bool, time.Duration)) (ended int, err error) {
	if err := letEnd(ctx, lost); err != nil {
		return 0, err
	}
	killed := map[id]bool{}
	for deadline := time.Now().Add(killLimit); ; time.Sleep(killPause) {
		alive := 0
		for _, p := range leftOver(processes(), func(m string) bool { is, _ := lost(m); return is }) {
			if !p.zombie {
				alive++
				killed[p.id()] = true
				killProcess(p)
			}
		}
		if alive == 0 {
			return len(killed), nil
		}
		if time.Now().After(deadline) {
			return len(killed), errors.New("processes of an interrupted run do not end, although they were killed")
		}
	}
}

// letEnd waits while a program runs that deserves patience, and has not used it
// up.
func letEnd(ctx context.Context, lost func(mark string) (bool, time.Duration)) error {
	for began := time.Now(); ; time.Sleep(killPause) {
		patient := func(m string) bool {
			is, patience := lost(m)
			return is && time.Since(began) < patience
		}
		waiting := slices.ContainsFunc(leftOver(processes(), patient), func(p process) bool { return !p.zombie })
		if !waiting {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("cannot wait for the processes of an interrupted run: %w", context.Cause(ctx))
		}
	}
}

// leftOver returns the processes with a lost mark, the other processes in their sessions, and the
// descendants of both.
func leftOver(all []process, lost func(string) bool) []process {
	in, sessions := map[int]bool{}, map[int]bool{}
	for _, p := range all {
		if m := markIn(p.pid); m != "" && p.pid != os.Getpid() && lost(m) {
			in[p.pid], sessions[p.session] = true, true
		}
	}
	if len(in) == 0 {
		return nil
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !in[p.pid] && p.pid != os.Getpid() && (in[p.parent] || sessions[p.session] && p.session != 0) {
				in[p.pid], grown = true, true
			}
		}
	}
	var out []process
	for _, p := range all {
		if in[p.pid] {
			out = append(out, p)
		}
	}
	return out
}

// markIn is the mark in the environment that a process was started with.
func markIn(pid int) string {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if mark, ok := strings.CutPrefix(string(v), changeName); ok {
			return mark
		}
	}
	return ""
}
