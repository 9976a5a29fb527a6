package bus_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// The recorded session: every kind of frame, and documents of each kind that hubs and agents read.
var (
	sessionKey    = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	sessionTarget = bustest.ID(1)
)

func sessionReport() fleet.Report {
	module := fleet.ModuleStatus{Module: "modules/web", Commit: strings.Repeat("a", 40),
		Bundle: "sha256:" + strings.Repeat("b", 64), State: fleet.ModuleReady, Since: 9}
	return fleet.Report{
		Format: fleet.ReportFormat, Target: sessionTarget, Seq: 3, Boot: "boot", At: 12,
		Event: fleet.Event{Kind: fleet.Applied, Run: 2, Text: "all is ready", Changes: 4},
		Status: fleet.Status{Epoch: 1, Generation: 7, Version: "1.0", Modules: []fleet.ModuleStatus{module}, Run: 2,
			Changed: 8, Facts: map[string]string{"os": "debian"}},
	}
}

func sessionAssignment() []byte {
	revision := fleet.Revision{Repository: "main", Commit: strings.Repeat("a", 40), Time: 5, Subject: "change"}
	bundle := fleet.Bundle{Digest: "sha256:" + strings.Repeat("b", 64), Size: 10}
	a := fleet.Assignment{
		Format: fleet.AssignmentFormat, Target: sessionTarget, Name: "web1", Epoch: 1, Generation: 8, Issued: 11,
		Labels: map[string]string{"role": "web"}, Fleet: "acme",
		Root:    fleet.Assigned{Revision: revision, Bundle: bundle},
		Modules: []fleet.Assigned{{Module: "modules/web", Revision: revision, Bundle: bundle}},
	}
	envelope, err := fleet.Sign(a.Marshal(), fleet.AssignmentType, sessionKey)
	if err != nil {
		panic(err) // the key is a constant
	}
	return envelope
}

// openSession reads the assignment as an agent does.
func openSession(envelope []byte) error {
	a, err := fleet.OpenAssignment(envelope, fleet.KeysOf(sessionKey.Public().(ed25519.PublicKey)))
	if err == nil && (a.Name != "web1" || a.Generation != 8 || len(a.Modules) != 1) {
		err = fmt.Errorf("another assignment: %+v", a)
	}
	return err
}

// hubSide is the hub of the session. It serves when it returns, and run is the rest.
func hubSide(ctx context.Context, x *bus.Exchange) (run <-chan error, err error) {
	beats, done := make(chan fleet.Beat, 1), make(chan error, 1)
	err = errors.Join(
		x.Serve(fleet.MessageReport, func(_ context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
			text, err := new(fleet.Decompressor).Decompress(body, fleet.MaxReport)
			if err != nil {
				return nil, err
			}
			r, err := fleet.ParseReport(text)
			if err == nil && (r.Target != from || r.Status.Generation != 7) {
				err = fmt.Errorf("another report: %+v", r)
			}
			return nil, err
		}),
		x.Serve(fleet.MessageAssignment, func(context.Context, fleet.TargetID, []byte) ([]byte,
			error) {
			return sessionAssignment(), nil
		}),
		x.Serve(fleet.MessageRequest, func(context.Context, fleet.TargetID, []byte) ([]byte, error) {
			return nil,
				fleet.ErrDenied
		}),
		x.Serve(fleet.MessageBeat, func(_ context.Context, _ fleet.TargetID, body []byte) ([]byte, error) {
			var b fleet.Beat
			err := json.Unmarshal(body, &b)
			beats <- b
			return nil, err
		}),
	)
	if err == nil {
		go func() { done <- hubAsks(ctx, x, beats) }()
	}
	return done, err
}

func hubAsks(ctx context.Context, x *bus.Exchange, beats <-chan fleet.Beat) error {
	select {
	case b := <-beats:
		if b.Generation != 7 || !b.Ready {
			return fmt.Errorf("another beat: %+v", b)
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := x.Tell(sessionTarget, fleet.MessageAssigned, sessionAssignment()); err != nil {
		return err
	}
	show, err := x.Ask(ctx, sessionTarget, fleet.MessageShow, nil)
	if err == nil {
		err = openSession(show)
	}
	if err != nil {
		return err
	}
	if _, err := x.Ask(ctx, sessionTarget, fleet.MessageJob, []byte("{}")); err == nil || err.Error() != "cannot do that" {
		return fmt.Errorf("an error of the agent: %w", err)
	}
	s, err := x.Open(ctx, sessionTarget, fleet.MessageExecutor, []byte(`{"by":"ann","changes":true}`))
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := io.WriteString(s, "ping"); err != nil {
		return err
	}
	answer, err := io.ReadAll(s)
	if err == nil && string(answer) != "pong" {
		err = fmt.Errorf("the stream has %q", answer)
	}
	return err
}

// agentSide is the agent of the session. It returns when its part is done.
func agentSide(ctx context.Context, l *bus.Link) error {
	assigned, streamed, up := make(chan error, 1), make(chan error, 1), make(chan bool, 1)
	err := errors.Join(
		l.Serve(fleet.MessageAssigned, func(_ context.Context, body []byte) ([]byte, error) {
			assigned <- openSession(body)
			return nil, nil
		}),
		l.Serve(fleet.MessageShow, func(context.Context, []byte) ([]byte, error) { return sessionAssignment(), nil }),
		l.Serve(fleet.MessageJob, func(context.Context, []byte) ([]byte, error) { return nil, errors.New("cannot do that") }),
		l.ServeStreams(fleet.MessageExecutor, func(_ context.Context, header []byte, s io.ReadWriteCloser) {
			b := make([]byte, 4)
			_, err := io.ReadFull(s, b)
			if err == nil && (string(b) != "ping" || !strings.Contains(string(header), "ann")) {
				err = fmt.Errorf("the stream has %q behind %q", b, header)
			}
			_, werr := io.WriteString(s, "pong")
			streamed <- errors.Join(err, werr)
		}),
	)
	if err != nil {
		return err
	}
	l.Changes(func(is bool) {
		if is {
			up <- true
		}
	})
	select {
	case <-up:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	text, err := json.Marshal(sessionReport())
	if err == nil {
		_, err = l.Ask(ctx, fleet.MessageReport, fleet.Compress(text))
	}
	if err != nil {
		return err
	}
	envelope, err := l.Ask(ctx, fleet.MessageAssignment, []byte(`{"epoch":1,"generation":7,"seq":3}`))
	if err == nil {
		err = openSession(envelope)
	}
	if err != nil {
		return err
	}
	if _, err := l.Ask(ctx, fleet.MessageRequest, []byte("{}")); !errors.Is(err, fleet.ErrDenied) {
		return fmt.Errorf("an error of the hub: %w", err)
	}
	if _, err := l.Ask(ctx, "unknown-word", nil); !errors.Is(err, fleet.ErrNoHub) {
		return fmt.Errorf("a word that the hub does not serve: %w", err)
	}
	if err := l.Tell(fleet.MessageBeat, []byte(`{"epoch":1,"generation":7,"seq":3,"ready":true,"clock":13}`)); err != nil {
		return err
	}
	for _, done := range []chan error{assigned, streamed} {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// sessionTime limits a session. It is far longer than a session takes.
func sessionTime(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
