package api

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// longestRequest is how long a request may be kept.
const longestRequest = 90 * 24 * time.Hour

// checkDo says what is wrong with what agents are to be asked.
func checkDo(r document.DoRequest) error {
	kinds := []string{fleet.DoApply, fleet.DoVerify, fleet.DoReport, fleet.DoRun}
	switch {
	case !slices.Contains(kinds, r.What):
		return &Refusal{http.StatusBadRequest, fmt.Sprintf("cannot request %.40q from agents", r.What), "Use apply, verify, report or run"}
	case len(r.Select) == 0:
		return &Refusal{http.StatusBadRequest, "cannot send a request: no agent is selected", "Select all agents: -t '*'"}
	case r.Expires < 0 || time.Duration(r.Expires) > longestRequest:
		return &Refusal{http.StatusBadRequest, fmt.Sprintf("cannot keep a request for %s", time.Duration(r.Expires)), "Omit it for one week, or use up to 90 days"}
	}
	if (r.What == fleet.DoRun) != (r.Run != nil) {
		return &Refusal{http.StatusBadRequest, "cannot read the program: only a request of the kind run has a program, and it must have one", "Write: fettle request run -t SELECTION -- PROGRAM"}
	}
	if len(r.Signed) > fleet.MaxSignedJob || r.Signed != "" && r.Run == nil {
		return &Refusal{http.StatusBadRequest, fmt.Sprintf("cannot accept a signature for this request: only run has one, of at most %d bytes", fleet.MaxSignedJob), "Select fewer targets, or shorten the command"}
	}
	if r.Run != nil {
		if err := r.Run.Check(); err != nil {
			return &Refusal{http.StatusBadRequest, err.Error(), ""}
		}
	}
	return nil
}

func (c *call) withdraw() (any, error) {
	return done("The request %s is cancelled for agents that have not started it.", c.path["request"])(c.h.Backend.Withdraw(c.r.Context(), c.who, c.path["request"]))
}

func (c *call) requests() (any, error) {
	offset, limit, err := c.page()
	if err != nil {
		return nil, err
	}
	page, err := c.h.Backend.Requests(c.r.Context(), offset, limit)
	for i, r := range page.Requests {
		page.Requests[i] = formed(r)
	}
	page.Format, page.Requests = document.RequestPageFormat, append([]document.Request{}, page.Requests...)
	return page, err
}

func formed(r document.Request) document.Request {
	r.Format = document.RequestFormat
	if r.Targets == nil {
		r.Targets = []document.Acknowledgement{}
	}
	return r
}

func (c *call) request() (any, error) {
	r, err := c.h.Backend.Request(c.r.Context(), c.path["request"])
	return formed(r), err
}

// active are the active targets that words select, and a refusal to do something to them where
// there is none.
func (c *call) active(words []string, do string) ([]fleet.TargetID, error) {
	page, err := c.h.Backend.Targets(c.r.Context(), view.TargetQuery{Select: words, Now: c.h.Now()})
	if err != nil {
		return nil, err
	}
	var ids []fleet.TargetID
	for _, t := range page.Targets {
		if t.Standing == fleet.Active {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return nil, &Refusal{http.StatusConflict, "cannot " + do + " any of these: none is active", "See the states of targets: fettle target list"}
	}
	return ids, nil
}

// do asks agents for something. A selection that is left out is a mistake, not all of
// them.
func (c *call) do() (any, error) {
	r := *c.in.(*document.DoRequest)
	if err := checkDo(r); err != nil {
		return nil, err
	}
	ids, err := c.active(r.Select, "ask")
	if err != nil {
		return nil, err
	}
	answer, err := c.h.Backend.Do(c.r.Context(), c.who, r, ids)
	return formed(answer), err
}
