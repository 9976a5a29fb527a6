# Matrix: each combination of the elements of several sources.
target "cache" {
  for_each = {
    for p in setproduct(["ams", "ber"], ["a", "b"]) : join("-", p) => { site = p[0], rack = p[1] }
  }
  name   = "cache-${each.key}"
  labels = { role = "cache", site = each.value.site, rack = each.value.rack }
}

# Nested: as many targets of each site as its number says.
target "worker" {
  for_each = merge([
    for site, count in { ams = 2, ber = 1 } : { for i in range(count) : "${site}-${i + 1}" => site }
  ]...)
  name   = "worker-${each.key}"
  labels = { role = "worker", site = each.value }
}
