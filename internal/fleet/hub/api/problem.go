package api

import (
	"context"
	"errors"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// problemOf is what an error stands for. The document is the caller's.
func problemOf(err error) document.Problem {
	var p *document.Problem
	var r *Refusal
	switch {
	case errors.As(err, &p):
		return *p
	case errors.As(err, &r):
		return document.Problem{Title: "It is refused", Status: min(max(r.Status, 400), 499), Detail: r.Why, Hint: r.Hint}
	}
	for _, known := range []struct {
		is     error
		status int
		title  string
		hint   string
	}{
		{view.ErrSelection, http.StatusBadRequest, "What was asked for is wrong", "See what can be selected: fettle docs targets"},
		{fleet.ErrNotFound, http.StatusNotFound, "It is not there", "List them: fettle target list, fettle module list --fleet"},
		{fleet.ErrConflict, http.StatusConflict, "Somebody else was faster", "Look at what it is now, and try again"},
		{fleet.ErrDenied, http.StatusForbidden, "Not allowed", "Ask somebody with the right admin for it"},
		{fleet.ErrOffline, http.StatusServiceUnavailable, "The target is away", "Try again when it is back; requests are kept for it"},
		{fleet.ErrNoHub, http.StatusServiceUnavailable, "No hub answers", "Try again in a moment"},
		{fleet.ErrNoAnswer, http.StatusGatewayTimeout, "The store does not answer", "See which hubs are away: fettle hub list"},
		{context.DeadlineExceeded, http.StatusGatewayTimeout, "It took too long", "Try again, or ask for less"},
	} {
		if errors.Is(err, known.is) {
			return document.Problem{Title: known.title, Status: known.status, Detail: err.Error(), Hint: known.hint}
		}
	}
	return document.Problem{Title: "The hub cannot do it", Status: http.StatusInternalServerError, Detail: err.Error(), Hint: "See how the hub is: fettle status --fleet"}
}
