package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"fettle.dev/fettle/internal/host"
)

// Command is one command that ran on the host outside of a run. It is not part of the applied state
// and is never undone.
type Command struct {
	Format int `json:"format"` // 1
	ID     int `json:"id"`     // from 1, never used twice
	// Action is the name of the action, "" for an ad-hoc command.
	Action string     `json:"action,omitempty"`
	Argv   [][]string `json:"argv"` // one or several commands, without secrets
	Dir    string     `json:"dir,omitempty"`
	As     string     `json:"as,omitempty"` // the user that it ran as, "" for fettle's own
	// ReadOnly is set if the command is declared to change nothing.
	ReadOnly bool   `json:"looks,omitempty"`
	User     string `json:"user"` // user that requested it
	From     string `json:"from"`
	Typed    string `json:"command"`
	Version  string `json:"version"`
	PID      int    `json:"pid,omitempty"`
	Started  int64  `json:"started"`  // ns since 1970
	Deadline int64  `json:"deadline"` // ns since 1970: it has ended by then
	Ended    int64  `json:"ended,omitempty"`
	// Outcome is Succeeded, Failed, or Interrupted if its end was not observed; "" while it runs.
	Outcome Outcome `json:"outcome,omitempty"`
	Exit    int     `json:"exit"` // of the last command; -1 when a signal or the timeout ended it
	Signal  string  `json:"signal,omitempty"`
	// TimedOut is set if it was ended at its timeout.
	TimedOut bool   `json:"timed_out,omitempty"`
	Error    string `json:"error,omitempty"`
	// Stdout and Stderr are the ends of its output, without secrets.
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// keepCommands is how many commands stay in the history.
const keepCommands = 500

func commandPath(id int) string { return fmt.Sprintf("/commands/%06d.json", id) }

// BeginCommand durably records that a command is about to run, and assigns its ID. It needs no
// lock. It removes the oldest commands.
func (s *CommandLog) BeginCommand(c Command) (Command, error) {
	all, err := s.commandDirectory()
	if err != nil {
		return c, fmt.Errorf("cannot record the command: %w", err)
	}
	c.Format, c.ID = format, 1
	if n := len(all); n > 0 {
		c.ID = all[n-1] + 1
	}
	for {
		err := s.claim(c)
		if errors.Is(err, fs.ErrExist) { // another command began just now
			c.ID++
			continue
		}
		if err == nil {
			err = s.fs.SyncDir("/commands")
		}
		if err != nil {
			return c, fmt.Errorf("cannot record the command: %w", err)
		}
		s.dropCommands(all)
		return c, nil
	}
}

// commandDirectory creates the directory of commands if it is missing, and lists it.
func (s *CommandLog) commandDirectory() ([]int, error) {
	there, err := host.Exists(s.fs, "/commands")
	if err != nil {
		return nil, err
	}
	if !there {
		if err = s.fs.Mkdir("/commands", 0o700); err == nil {
			err = s.fs.SyncDir("/")
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return s.numbers("/commands", ".json")
}

// claim writes the record under an unused name.
func (s *CommandLog) claim(c Command) error {
	b, err := seal(c)
	if err != nil {
		return err
	}
	return s.writeFile(commandPath(c.ID), b)
}

// dropCommands is best effort: the next command removes the remaining records.
func (s *CommandLog) dropCommands(all []int) {
	for len(all) >= keepCommands {
		_ = s.fs.Remove(commandPath(all[0]))
		all = all[1:]
	}
}

// EndCommand records durably how a command ended, which sets Ended.
func (s *CommandLog) EndCommand(c Command) error {
	c.Ended = s.opts.Now().UnixNano()
	if err := s.saveSealed(commandPath(c.ID), c); err != nil {
		return fmt.Errorf("cannot record the result of the command: %w", err)
	}
	return nil
}

// Commands returns the stored commands, newest last. A record that a crash cut short belongs to a
// command that never began.
func (s *CommandLog) Commands() ([]Command, error) {
	if _, err := s.fs.Lstat("/commands"); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all, err := s.numbers("/commands", ".json")
	if err != nil {
		return nil, err
	}
	var out []Command
	for _, id := range all {
		var c Command
		err := s.loadSealed(commandPath(id), &c)
		if errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.Format > format {
			return nil, &NewerFormatError{What: fmt.Sprintf("command c%d", id)}
		}
		out = append(out, c)
	}
	return out, nil
}

// RecoverCommands ends the records of commands whose end was not observed. Their changes remain. If
// all commands have ended, it does nothing. The caller must hold the lock, so that no changing
// command is running. Commands that only read have ended at their deadline.
func (s *CommandLog) RecoverCommands() error {
	all, err := s.Commands()
	if err != nil {
		return err
	}
	now := s.opts.Now()
	for _, c := range slices.Backward(all) {
		if c.Outcome != "" || c.ReadOnly && now.Before(time.Unix(0, c.Deadline)) {
			continue
		}
		c.Outcome, c.Exit, c.Error = Interrupted, -1,
			"fettle was interrupted while the command ran: its result is unknown, and its effects stay"
		if err := s.EndCommand(c); err != nil {
			return err
		}
	}
	return nil
}
