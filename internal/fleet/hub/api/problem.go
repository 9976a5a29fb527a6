package api

import (
	"context"
	"errors"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// problemOf converts an error to a problem document.
func problemOf(err error) document.Problem {
	var p *document.Problem
	var r *Refusal
	switch {
	case errors.As(err, &p):
		return *p
	case errors.As(err, &r):
		return document.Problem{Title: "The request is refused", Status: min(max(r.Status, 400), 499), Detail: r.Why,
			Hint: r.Hint}
	}
	for _, known := range []struct {
		is     error
		status int
		title  string
		hint   string
	}{
		{view.ErrQuery, http.StatusBadRequest, "The request is wrong", "See the forms of a selection: fettle docs targets"},
		{fleet.ErrNotFound, http.StatusNotFound, "The object does not exist",
			"List the objects: fettle target list, fettle module list --fleet"},
		{fleet.ErrConflict, http.StatusConflict, "Another change was faster", "Check the current state, and try again"},
		{fleet.ErrDenied, http.StatusForbidden, "Not allowed", "Ask a user with the right admin for it"},
		{fleet.ErrOffline, http.StatusServiceUnavailable, "The target is not connected",
			"Try again when it is connected; the hub stores requests for it"},
		{fleet.ErrNoHub, http.StatusServiceUnavailable, "No hub answers", "Try again in a moment"},
		{fleet.ErrNoAnswer, http.StatusGatewayTimeout, "The store does not answer",
			"See which hubs are missing: fettle hub list"},
		{context.DeadlineExceeded, http.StatusGatewayTimeout, "The operation took too long", "Try again, or ask for less"},
	} {
		if errors.Is(err, known.is) {
			return document.Problem{Title: known.title, Status: known.status, Detail: err.Error(), Hint: known.hint}
		}
	}
	return document.Problem{Title: "The hub cannot do this", Status: http.StatusInternalServerError, Detail: err.Error(),
		Hint: "See the health of the hub: fettle status --fleet"}
}

// errTenant is the error for users of an organization at all routes that do not serve them.
func errTenant() error {
	return fail(http.StatusForbidden, "Not allowed", "users of an organization cannot use this",
		"Ask an operator of the fleet")
}

func why(err error) string {
	if err == nil {
		return "it has no certificate and no token"
	}
	return err.Error()
}

// fail returns an error as a complete problem document.
func fail(status int, title, detail, hint string) error {
	return &document.Problem{Title: title, Status: status, Detail: detail, Hint: hint}
}
