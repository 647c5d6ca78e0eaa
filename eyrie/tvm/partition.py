# SPDX-License-Identifier: Apache-2.0
"""A Relax module whose supported parts are functions for the code generator."""

import hashlib
import json

from tvm import ir, relax
from tvm.relax import transform

from eyrie.compiler.frontend.tvm.read import graph_of_steps
from eyrie.compiler.frontend.tvm.steps import CODE_GENERATOR, DEQUANTIZE, steps_of, steps_of_match
from eyrie.compiler.frontend.tvm.units import patterns_of, reason_of
from eyrie.compiler.passes.obstacle import obstacle
from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.back_ends import back_end_class
from eyrie.runtime.configurations import Configuration, config_of
from eyrie.runtime.programs import contents_of
from eyrie.session import session_of

# Attributes of functions.
BACK_END, CONFIG, SYMBOL = "eyrie.back_end", "eyrie.config", "global_symbol"


def partitioned(module: ir.IRModule, back_end: str = "functional", config: Configuration = None) -> ir.IRModule:
    """Return a module for RunCodegen, in which the parts that the accelerator runs are compiled functions.

    The code generator of these functions is "eyrie".

      module    quantised: float operators between relax.quantize and relax.dequantize, parameters bound
      back_end  functional: the functional simulator; rtl: the simulated RTL; cosim: both, compared; golden: the golden
                model; c: portable C
      config    accelerator configuration: None for the default one, an AcceleratorConfig, names and numbers, or a JSON
                file of these

    Raise InputError, with one line, if an argument is invalid, or a part does not compile because its weights do not
    fit.
    """
    back_end_class(back_end)
    config = config_of(config)
    module = transform.ConvertToDataflow()(module.clone())
    for variable, function in relax_functions(module):
        module.update_func(variable, _OneReader(module).visit_expr(function))
    module = transform.DeadCodeElimination()(module)
    patterns = [pattern for _, function in relax_functions(module) for pattern in patterns_of(steps_of(function))]
    units = [transform.FusionPattern(f"{CODE_GENERATOR}.unit", pattern, {}, _is_supported) for pattern in patterns]
    module = transform.MergeCompositeFunctions()(transform.FuseOpsByPattern(units, bind_constants=True)(module))
    for number, (variable, function) in enumerate(functions_of(module)):
        for key, value in _compiled(number, function, back_end, config).items():
            function = function.with_attr(key, value)
        module.update_func(variable, function)
    return module


def relax_functions(module: ir.IRModule) -> list[tuple[ir.GlobalVar, relax.Function]]:
    return [
        (variable, function) for variable, function in module.functions_items() if isinstance(function, relax.Function)
    ]


def functions_of(module: ir.IRModule) -> list[tuple[ir.GlobalVar, relax.Function]]:
    """Return the functions for the code generator, in the order of their calls."""
    called = dict.fromkeys(
        step.part for _, function in relax_functions(module) for step in steps_of(function, module).steps if step.part
    )
    return [(variable, module[variable]) for variable in map(module.get_global_var, called)]


def _compiled(number: int, function: relax.Function, back_end: str, config: AcceleratorConfig) -> dict[str, str]:
    """Return the attributes of a compiled function.

    Its symbol covers everything that it computes, and the back end. TVM finds functions by names that all modules
    share.
    """
    graph, sizes = graph_of_steps(steps_of(function)), json.dumps(config.as_dict())
    digest = hashlib.sha256(contents_of(graph) + f"\0{back_end}\0{sizes}".encode()).hexdigest()[:16]
    name = f"{CODE_GENERATOR}_{number}_{digest}"
    session_of(graph, f"tvm-part{number}", config, back_end)
    return {BACK_END: back_end, CONFIG: sizes, SYMBOL: name}


def _is_supported(context: transform.PatternCheckContext) -> bool:
    bindings = dict(context.matched_bindings.items())
    root = context.value_to_bound_var[context.matched_expr]
    if any(
        reader not in bindings
        for variable in bindings
        if variable != root
        for reader in context.var_usages.get(variable, ())
    ):
        return False
    return not reason_of(steps_of_match(root, bindings), obstacle)


@relax.expr_functor.mutator
class _OneReader(relax.PyExprMutator):
    """Gives each reader of a DEQUANTIZE its own copy of it."""

    def visit_call_(self, call: ir.Call) -> ir.Expr:
        arguments = [self._own(self.visit_expr(each)) for each in call.args]
        return ir.Call(call.op, arguments, call.attrs, call.ty_args, call.span)

    def _own(self, argument: ir.Expr) -> ir.Expr:
        if isinstance(argument, relax.Tuple):
            return relax.Tuple([self._own(each) for each in argument.fields])
        maker = self.lookup_binding(argument) if isinstance(argument, relax.Var) else None
        if isinstance(maker, ir.Call) and getattr(maker.op, "name", "") == f"relax.{DEQUANTIZE}":
            return self.builder_.emit(
                relax.op.dequantize(*maker.args, axis=maker.attrs.axis, out_dtype=maker.attrs.out_dtype)
            )
        return argument
