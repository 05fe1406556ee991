"""The HTTP kit, and the route tables of the HTTP functions.

`shared.http.api.routes.ROUTES` and `shared.http.chat.routes.ROUTES` are data: importing them loads no SDK, so
that `api` can describe both in one OpenAPI document. An entry point is

    app = app_for(ROUTES, container())
    return app(request)

and a handler is `def name(services, call: Call[BodyModel, QueryModel]) -> View | Reply | Response`.
"""
