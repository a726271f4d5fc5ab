package route

import (
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/record/config/provider"
)

// Cost returns what an answer cost, in US dollars; nil where the price or the usage is
// not known.
func Cost(u *model.Usage, p *provider.Price) *float64 {
	if u == nil || p == nil {
		return nil
	}
	usd := (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / 1e6
	return &usd
}
