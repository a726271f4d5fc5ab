package route

import (
	"github.com/kxtools/kx/internal/model"
	"github.com/kxtools/kx/internal/record/config/provider"
)

// Cost returns what an answer cost, in US dollars.
func Cost(u *model.Usage, p *provider.Price) float64 {
	const million = 1e6 // prices are for as many tokens
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / million
}
