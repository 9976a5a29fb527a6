package assignments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/view"
)

// ServerConfig contains what a Server needs of its hub.
type ServerConfig struct {
	Now     func() time.Time
	Warn    func(text string)
	Context func() context.Context // ends with the hub

	Records    *records.Table
	View       *view.View
	Exchange   fleet.Exchange
	RetryQueue *limits.RetryQueue
	// Adopt stores the signed assignment that a target showed. See Store.Adopt.
	Adopt func(ctx context.Context, id fleet.TargetID, envelope []byte) error
	// IsCloned reports whether a target gets no assignments. OnClock compares the clock of an agent.
	IsCloned func(fleet.TargetID) bool
	OnClock  func(ctx context.Context, from fleet.TargetID, clock time.Time)
	// Changed is called after an assignment was written.
	Changed func()
}

// Server gives agents their assignments. It is safe for concurrent use and has no lock.
type Server struct{ ServerConfig }

// NewServer returns a server of the assignments in a table.
func NewServer(c ServerConfig) *Server { return &Server{c} }

// OnAssignment returns the assignment of an agent if the agent has an older one, otherwise nil. An agent that can prove
// that the store lost data first shows the assignment that it has, and gets the other one then.
func (s *Server) OnAssignment(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	var have fleet.Have
	if err := json.Unmarshal(body, &have); err != nil {
		return nil, fmt.Errorf("cannot read the request: %w", err)
	}
	s.View.RecordContact(from, s.Now())
	g, _, ok := s.Records.Assignments.Get(string(from))
	was := fleet.Assignment{Epoch: have.Epoch, Generation: have.Generation}
	if s.maybeLost(have, g) {
		s.adopt(from)
		return nil, nil
	}
	if !ok || g.Assignment.Newer(was) <= 0 || s.IsCloned(from) {
		return nil, nil
	}
	return g.Envelope()
}

// maybeLost reports whether an agent claims an assignment that this store should have and does not have.
func (s *Server) maybeLost(have fleet.Have, g records.Assignment) bool {
	epoch, _, _ := s.Records.Epochs.Get(records.EpochKey)
	return g.Assignment.Newer(fleet.Assignment{Epoch: have.Epoch, Generation: have.Generation}) < 0 ||
		ProvesLoss(have, g, epoch)
}

// adopt asks an agent for its signed assignment and stores it. An unsigned claim is not enough: the agent could choose
// its own content, and push the epoch of the fleet to the maximal number.
func (s *Server) adopt(id fleet.TargetID) {
	s.RetryQueue.Add(s.Context(), limits.RetryTask{
		Key: "shown/" + string(id),
		Do:  func(ctx context.Context) error { return s.adoptShown(ctx, id) },
		Again: func(err error) bool {
			s.Warn(fmt.Sprintf("cannot store the assignment that the target %s has: %v", id, err))
			return s.Exchange.IsConnected(id)
		},
	})
}

func (s *Server) adoptShown(ctx context.Context, id fleet.TargetID) error {
	envelope, err := s.Exchange.Ask(ctx, id, fleet.MessageShow, nil)
	defer s.pushNewest(id)
	if err != nil || len(envelope) == 0 {
		return err
	}
	if err = s.Adopt(ctx, id, envelope); errors.Is(err, ErrForged) {
		s.Warn(fmt.Sprintf("the target %s has sent an assignment that no hub of this fleet signed for it", id))
		return nil
	}
	return err
}

// pushNewest sends a target its assignment. The target ignores an older one.
func (s *Server) pushNewest(id fleet.TargetID) {
	if g, _, ok := s.Records.Assignments.Get(string(id)); ok {
		s.Push(g)
	}
}

// OnBeat records the contact and the clock of an agent, and sends a newer assignment if there is
// one.
func (s *Server) OnBeat(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	var b fleet.Beat
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, err
	}
	s.View.RecordContact(from, s.Now())
	s.OnClock(ctx, from, time.Unix(0, b.Clock))
	g, _, ok := s.Records.Assignments.Get(string(from))
	if s.maybeLost(b.Have, g) {
		s.adopt(from) // the store was restored while the agent was connected
		return nil, nil
	}
	if ok && g.Assignment.Newer(fleet.Assignment{Epoch: b.Have.Epoch, Generation: b.Have.Generation}) > 0 {
		s.Push(g) // the assignment is newer than the last request, or the agent rejected an earlier push
	}
	return nil, nil
}

// OnRecord sends a new assignment to its target if it is connected to this hub.
func (s *Server) OnRecord(_ string, g records.Assignment, _ uint64, gone bool) {
	if gone {
		return
	}
	s.Changed()
	// Otherwise another hub pushes it, or the agent asks when it connects.
	if s.Exchange.IsConnected(g.Assignment.Target) {
		s.Push(g)
	}
}

// Push sends a connected target its assignment. A failure is only a warning, because agents also ask.
func (s *Server) Push(g records.Assignment) {
	if s.IsCloned(g.Assignment.Target) {
		return
	}
	envelope, err := g.Envelope()
	if err == nil {
		err = s.Exchange.Tell(g.Assignment.Target, fleet.MessageAssigned, envelope)
	}
	if err != nil {
		s.Warn(err.Error())
	}
}
