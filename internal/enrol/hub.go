package enrol

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// HubOf returns the hub at the other end of a client.
func HubOf(c *client.Client) Hub { return remoteHub{c} }

type remoteHub struct{ client *client.Client }

func (h remoteHub) CreateToken(ctx context.Context, r document.TokenRequest) (document.NewToken, error) {
	return client.Post(ctx, h.client, route.CreateToken(), r)
}

func (h remoteHub) RevokeToken(ctx context.Context, id string) error {
	_, err := client.Call(ctx, h.client, route.RevokeToken(), route.TokenID{Token: id}, document.ReasonRequest{})
	return err
}

func (h remoteHub) Target(ctx context.Context, id fleet.TargetID) (document.TargetDetail, error) {
	return client.GetAt(ctx, h.client, route.Target(), route.TargetName{Target: string(id)})
}
