# Merge: for an attribute that several sources have, the last source wins. Only data/shops.yaml adds targets: a key
# that only data/overrides.yaml has makes none.
target "shop" {
  for_each = {
    for name, shop in yamldecode(file("data/shops.yaml")) : name => merge(
      { workers = 2, beta = false },                          # for all
      shop,                                                   # of this shop
      try(yamldecode(file("data/overrides.yaml"))[name], {}), # exceptions
    )
  }
  name     = "shop-${each.key}"
  at_least = 2
  labels   = { role = "shop", site = each.value.site, beta = each.value.beta ? "yes" : "no" }
  vars     = { workers = each.value.workers }
}
