package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/ui/cli"
)

// endPatience is how long a program that was tried may take to end.
const endPatience = 10 * time.Second

// programHooks are the functions that replace this program by another one; closing ends its work.
func programHooks(closing func()) *cli.Binary {
	return &cli.Binary{
		Arch: runtime.GOARCH,
		File: os.Executable,
		Digest: func() (string, error) {
			f, err := os.Open("/proc/self/exe")
			if err != nil {
				return "", err
			}
			defer f.Close()
			sum := sha256.New()
			_, err = io.Copy(sum, f)
			return "sha256:" + hex.EncodeToString(sum.Sum(nil)), err
		},
		Become: func(file string) error {
			closing()
			return local.Become(file, withWords(file), os.Environ())
		},
		Try: func(ctx context.Context, file string) error {
			// Only the supervising process notifies the service manager.
			env := slices.DeleteFunc(os.Environ(), func(v string) bool {
				return strings.HasPrefix(v, "NOTIFY_SOCKET=") || strings.HasPrefix(v, "WATCHDOG_")
			})
			return local.Beside(ctx, withWords(file), env, os.Stdout, os.Stderr, endPatience)
		},
		Run: runProgram,
	}
}

// withWords are the words that this program was begun with.
func withWords(file string) []string { return append([]string{file}, os.Args[1:]...) }

// runProgram runs a program and returns its output.
func runProgram(ctx context.Context, argv []string) ([]byte, error) {
	h, err := here.Root("/")
	if err != nil {
		return nil, err
	}
	defer h.Close()
	res, err := h.Run(ctx, host.Command{Argv: argv, Timeout: time.Minute})
	switch {
	case err != nil:
		return nil, err
	case res.TimedOut:
		return nil, errors.New("it does not end within a minute")
	case res.ExitCode != 0:
		first, _, _ := strings.Cut(strings.TrimSpace(string(res.Stderr)), "\n")
		return nil, fmt.Errorf("it ends with %d%s: %s", res.ExitCode, res.Signal, first)
	}
	return res.Stdout, nil
}
