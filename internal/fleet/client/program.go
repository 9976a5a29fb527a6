package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// Programs returns the settings for the binaries of agents.
func (c *Client) Programs(ctx context.Context) (document.ProgramPage, error) {
	return ask[document.ProgramPage](ctx, c, http.MethodGet, "/v1/programs", nil, nil)
}

// SetProgram says which program agents are to be.
func (c *Client) SetProgram(ctx context.Context, r document.ProgramRequest) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, "/v1/programs", nil, r)
}

// GiveProgram gives the hub a file of a program, and tells its name. It may be given
// again.
func (c *Client) GiveProgram(ctx context.Context, file io.Reader) (fleet.Bundle, error) {
	var b fleet.Bundle
	r, err := c.request(ctx, http.MethodPost, "/v1/programs/file", nil, nil)
	if err != nil {
		return b, err
	}
	r.Body = io.NopCloser(file)
	r.Header.Set("Content-Type", "application/octet-stream")
	answer, err := c.send(r)
	if err != nil {
		return b, err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&b); err != nil {
		return b, fmt.Errorf("cannot read the answer of the hub: %w", err)
	}
	return b, nil
}
