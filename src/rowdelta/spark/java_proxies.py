"""Makes Java objects that answer some methods of an interface in another way, without any Java code.

Python is not asked when such an object is called: its methods are method handles, which the JVM runs by itself. So any
Java thread may use it, and no server has to run in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rowdelta.spark.bulk_calls import MethodHandles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rowdelta.spark.gateway import Gateway

Signature = tuple[str, ...]  # the name of a method, and the classes of its arguments
_OBJECT: Final = "java.lang.Object"
_METHOD: Final = "java.lang.reflect.Method"
_HANDLE: Final = "java.lang.invoke.MethodHandle"
_METHODS_OF_ALL: Final = ("toString", "hashCode", "equals")


class JavaProxies:
    """Makes objects of Java interfaces, and the handles that such an object may have as its methods."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._find = MethodHandles(gateway).method
        self._compose = gateway.jvm.java.lang.invoke.MethodHandles

    def of_object(self, owner: str, signature: Signature, target: Any) -> Any:
        """Finds a method of an object."""
        return self._find(owner, *signature).bindTo(target)

    def constant(self, owner: str, signature: Signature, result: Any) -> Any:
        """Makes a method that ignores its arguments and returns a value."""
        returned = self._find(owner, *signature).type().returnType()
        return self._compose.dropArguments(self._compose.constant(returned, result), 0, self._classes(*signature[1:]))

    def first_of(self, first: Any, error: str, second: Any) -> Any:
        """Makes a method that calls `second` with the same arguments if `first` raises an error."""
        ignoring = self._compose.dropArguments(second, 0, self._classes(error))
        return self._compose.catchException(first, self._gateway.java_class(error), ignoring)

    def after(self, observer: Any, method: Any) -> Any:
        """Makes a method that first calls an observer with the same arguments."""
        signature = method.type().changeReturnType(self._gateway.jvm.java.lang.Void.TYPE)
        return self._compose.foldArguments(method, observer.asType(signature))

    def then(self, method: Any, convert: Any) -> Any:
        """Makes a method that converts the result of a method by another method."""
        return self._compose.filterReturnValue(method, convert)

    def override(
        self, interface: str, target: Any, own: Mapping[Signature, Any], returns_itself: Signature | None = None
    ) -> Any:
        """Makes an object of an interface that has some methods of its own, and passes all other calls to a target.

        Args:
            interface: The name of the interface.
            target: An object of the same interface.
            own: Its own methods, by name and arguments.
            returns_itself: A method that returns the new object.
        """
        gateway, compose = self._gateway, self._compose
        java_interface, methods = gateway.java_class(interface), gateway.jvm.java.util.HashMap()
        for signature, method in own.items():
            methods.put(self._get_java_method(interface, signature), method)
        find_of_target = compose.insertArguments(self._find_bound(interface), 1, self._objects(target))
        has_own = self._take_method(self._find("java.util.Map", "containsKey", _OBJECT).bindTo(methods))
        find_own = self._take_method(self._find("java.util.Map", "get", _OBJECT).bindTo(methods), _HANDLE)
        find = compose.guardWithTest(has_own, find_own, find_of_target)
        run = self._find(_HANDLE, "invokeWithArguments", "[Ljava.lang.Object;").asFixedArity()
        handler = compose.dropArguments(compose.collectArguments(run, 0, find), 0, self._classes(_OBJECT))
        make = gateway.jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance
        made = gateway.jvm.java.lang.reflect.Proxy.newProxyInstance(
            java_interface.getClassLoader(),
            self._classes(interface),
            make(gateway.java_class("java.lang.reflect.InvocationHandler"), handler),
        )
        if returns_itself is not None:
            constant = self.constant(interface, returns_itself, made)
            methods.put(self._get_java_method(interface, returns_itself), constant)
        return made

    def _get_java_method(self, interface: str, signature: Signature) -> Any:
        name, *arguments = signature
        java_class = self._gateway.java_class(interface)
        return self._gateway.once(
            "java method", interface, *signature, make=lambda: java_class.getMethod(name, self._classes(*arguments))
        )

    def _find_bound(self, interface: str) -> Any:
        """Makes a function of a Java method and an object, which returns the method of that object as a handle."""
        return self._gateway.once("bound methods", interface, make=lambda: self._make_find_bound(interface))

    def _make_find_bound(self, interface: str) -> Any:
        gateway, lookup = self._gateway, self._compose.publicLookup()
        handles = gateway.jvm.java.util.HashMap()
        found = [*gateway.java_class(interface).getMethods()]
        found += [method for method in gateway.java_class(_OBJECT).getMethods() if method.getName() in _METHODS_OF_ALL]
        for method in found:
            handles.put(method, lookup.unreflect(method))
        find = self._take_method(self._find("java.util.Map", "get", _OBJECT).bindTo(handles), _HANDLE)
        return self._compose.filterArguments(self._find(_HANDLE, "bindTo", _OBJECT), 0, gateway.array(_HANDLE, [find]))

    def _take_method(self, handle: Any, returned: str | None = None) -> Any:
        """Changes the argument of a handle to a Java method, and its result to a class."""
        signature = handle.type().changeParameterType(0, self._gateway.java_class(_METHOD))
        if returned is not None:
            signature = signature.changeReturnType(self._gateway.java_class(returned))
        return handle.asType(signature)

    def _classes(self, *names: str) -> Any:
        """Makes an array of classes, which must not be changed."""
        java_class = self._gateway.java_class
        return self._gateway.once(
            "classes", *names, make=lambda: self._gateway.array("java.lang.Class", [java_class(name) for name in names])
        )

    def _objects(self, *values: Any) -> Any:
        return self._gateway.array(_OBJECT, values)
